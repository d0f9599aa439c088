// The payload of a close frame, in both directions (RFC 6455 section 5.5.1).
// A value without an owner.

/// The code and the reason of a close frame.
package struct CloseFrame: Equatable, Sendable {
    /// The longest reason: the limit of a control frame less the two bytes of the code.
    package static let reasonByteLimit = Opcode.controlPayloadLimit - 2

    /// The code; nil when the payload is empty.
    package let code: CloseCode?
    /// The reason; empty when there is none.
    ///
    /// It is the peer's text: never branch on it.
    package let reason: String

    /// Makes a frame to send.
    ///
    /// A code that must not be on the wire gives an empty payload, and without a code there is no reason. A longer
    /// reason is cut before the scalar that exceeds the limit.
    package init(code: CloseCode?, reason: String = "") {
        guard let code, code.isAllowedInFrame else {
            self.code = nil
            self.reason = ""
            return
        }
        self.code = code
        self.reason = Self.cut(reason)
    }

    /// Reads the payload of a frame that was received.
    package init(payload: some Collection<UInt8>) throws(FrameError) {
        guard let high = payload.first else {
            self.code = nil
            self.reason = ""
            return
        }
        let rest = payload.dropFirst()
        guard let low = rest.first else { throw .incompleteCloseCode }
        let code = CloseCode(rawValue: UInt16(high) << 8 | UInt16(low))
        guard code.isAllowedInFrame else { throw .closeCodeNotAllowed(code.rawValue) }
        // The failable conversion checks that the reason is UTF-8.
        guard let reason = String(validating: rest.dropFirst(), as: UTF8.self) else { throw .closeReasonNotUTF8 }
        self.code = code
        self.reason = reason
    }

    /// The bytes of the frame's payload.
    package var payload: [UInt8] {
        guard let code = self.code else { return [] }
        return [UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)] + Array(self.reason.utf8)
    }

    private static func cut(_ reason: String) -> String {
        guard reason.utf8.count > Self.reasonByteLimit else { return reason }
        var kept = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in reason.unicodeScalars {
            byteCount += UTF8.width(scalar)
            if byteCount > Self.reasonByteLimit { break }
            kept.append(scalar)
        }
        return String(kept)
    }
}
