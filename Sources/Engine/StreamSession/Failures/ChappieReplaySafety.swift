/// The safety of sending a request again.
public enum ChappieReplaySafety: String, Sendable, Codable, CaseIterable {
    /// The server has not seen the whole request.
    case notSent
    /// The server may have seen it, and no output was delivered.
    case sentNoOutput
    /// Output was delivered, or a tool has run: another answer may differ.
    case outputDelivered
    /// The response was complete.
    case completed
}
