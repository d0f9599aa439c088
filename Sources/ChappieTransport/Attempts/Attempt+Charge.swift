import StreamSession
import StreamTransport
import TransportSurface

// The guess whether a server charges an attempt, for the report.

extension Attempt {
    /// Returns whether the server has probably begun to make a response for the attempt.
    func isProbablyCharged(_ statistics: TransportStatistics) -> Bool {
        // A resumption asks for the events of a response that was requested before.
        guard self.isRequestSent, !self.isResumed else { return false }
        if self.hasContent { return true }
        // Over HTTP the request may not have been written yet.
        let isWritten = self.transport == .webSocket || self.head != nil || statistics.requestSent
        guard let failure = self.failure else { return isWritten }
        if case .timeout = failure { return isWritten }
        if failure == .unexpectedContentType { return !self.isPage && !WebPage.isContentType(self.head?.mediaType) }
        return failure.mayLeaveCharge && (self.transport == .webSocket || failure.mayFollowPOST)
    }
}

extension AttemptFailure {
    /// Indicates whether the server may have begun to make a response, without output, before the attempt ended so.
    fileprivate var mayLeaveCharge: Bool {
        switch self {
        case .httpStatus(let facts):
            // A success without a stream, and the answers of gateways whose server did not answer in time or at all.
            facts.statusCode.map { (200..<300).contains($0) || [502, 504].contains($0) || (520..<528).contains($0) }
                ?? false
        // The server reports an error before any output, or refuses the message.
        case .upgradeStatus, .errorEvent, .responseFailed, .requestTooLarge: false
        case .closed(let code, let beforeFirstEvent): !(beforeFirstEvent && [1008, 1009].contains(code))
        case .transport(let failure): failure.cause != .notHTTP && failure.cause != .protocolSwitched
        case .endedEarly, .endedWithoutEvent, .responseIncomplete, .unexpectedContentType, .binaryMessage,
            .undecodableEvent, .contradictoryEvents, .sequenceGap, .otherAPI, .eventTooLarge, .outputTooLarge,
            .tooManyItems, .toolOutputAwaited, .timeout:
            true
        }
    }
}
