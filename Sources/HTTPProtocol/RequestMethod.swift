// Request methods (RFC 9110 section 9).
// Values without an owner.

/// The method of a request, which also decides whether its response has content.
package enum RequestMethod: String, Equatable, Sendable {
    /// Asks for the target's current representation.
    case get = "GET"
    /// Sends content to the target.
    case post = "POST"
    /// Asks a proxy for a tunnel.
    case connect = "CONNECT"
}
