/// The extent to which a broken response is recovered.
///
/// Each recovery step is the cheapest that is sound: a response that the server continues (`background` and `store`) is
/// resumed at its last event; one of which no output was delivered is requested again; any other is requested again and
/// compared with the delivered output.
public enum ChappieRecoveryPolicy: String, Sendable, Hashable, CaseIterable {
    /// Every recovery step.
    ///
    /// The default.
    case verify
    /// The request is not sent again once output was delivered.
    case resumeOnly
    /// A request that the server may have received is never sent again.
    ///
    /// Nor is its response resumed.
    case never
}
