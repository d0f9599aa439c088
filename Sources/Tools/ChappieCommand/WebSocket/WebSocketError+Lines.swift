// The failure of a WebSocket as lines on standard error. Pure.
import ChappieTransport
import WebSocketClient

extension WebSocketError {
    /// The server's message in a refusal, on one line; nil without one.
    ///
    /// The reason of a close frame stands in the line about the end.
    var refusalMessage: String? {
        guard case .refused(let refusal) = self else { return nil }
        return ServerMessage.line(ofBody: refusal.body)
    }

    /// The problem with its advice, the server's message, and the facts.
    var lines: FailureLines {
        var facts = [self.tag, "category \(self.category.rawValue)"]
        if case .transport(let failure) = self, let issuer = failure.details.issuer {
            facts.append(FailureLines.fact(ofIssuer: issuer))
        }
        return FailureLines(problem: self.safeDescription, serverMessage: self.refusalMessage, facts: facts)
    }
}
