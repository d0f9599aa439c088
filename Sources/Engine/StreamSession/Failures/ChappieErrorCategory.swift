/// The kind of problem that an error reports.
public enum ChappieErrorCategory: String, Sendable, CaseIterable {
    /// The credential is missing, wrong or expired.
    case auth
    /// The server cannot be reached, or the connection failed.
    case network
    /// The request, or the program's configuration, is not acceptable.
    case validation
    /// The credential is valid, but does not permit this.
    case permission
    /// A rate or usage limit.
    case rateLimit
    /// The server failed, or sent contradictory data.
    case server
    /// A defect or a lack of resources on this side.
    case `internal`
}
