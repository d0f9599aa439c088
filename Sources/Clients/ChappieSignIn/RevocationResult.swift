/// The result of asking a server to revoke tokens (RFC 7009).
package enum RevocationResult: Sendable, Equatable {
    /// The server has revoked them.
    case revoked
    /// The server has refused, with this status code.
    case refused(statusCode: Int)
    /// The server has not answered.
    case unanswered
    /// There was nothing to revoke, or nowhere to ask.
    case notAsked
}
