public import ChappieTransport

extension ChappieStreamHandle {
    /// Adds a message of the user, with pictures and files, to the response that is being made.
    ///
    /// It does the same as `steer(_:)` with a text. Throws `ChappieSteeringError.invalidInput` for a message with another
    /// role, without content, or with a part that cannot be sent. The message's options have no effect, as the settings
    /// are those of the response.
    public func steer(_ message: ChappieInputMessage) throws {
        guard message.role == .user, !message.parts.isEmpty, message.parts.allSatisfy({ $0.fault == nil }) else {
            throw ChappieSteeringError.invalidInput
        }
        try self.steer(inputJSON: "[\(String(decoding: message.json, as: UTF8.self))]")
    }
}
