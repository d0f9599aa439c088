// The printed form of an error, without the server's words and without content.
//
// A program that logs an unredacted error must not log a response by accident. The facts are in the error's properties.
import TransportSurface

extension ChappieClientError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The stable tag and the safe description.
    ///
    /// The server's words are in `unsafeMessage`, and the delivered text is in the case's own value.
    public var description: String { "\(self.tag): \(self.safeDescription)" }

    /// The same as `description`.
    public var debugDescription: String { "ChappieClientError(\(self.description))" }

    /// The tag and the facts derived from it; for a failure below HTTP, its facts.
    public var customMirror: Mirror {
        guard case .transport(let failure) = self else { return Mirror(self, children: ["tag": self.tag]) }
        return Mirror(self, children: ["tag": self.tag, "failure": failure])
    }
}
