// A request, as the handler of a server gets it.
// Values without an owner.

package import HTTPProtocol

/// A whole request.
package struct HTTPServerRequest: Sendable {
    /// The method; it is compared with regard to case.
    package let method: String
    /// The path of the target, not decoded: it begins with `/`, or is `*`.
    package let path: String
    /// The query of the target without its question mark, not decoded; nil when there is none.
    package let query: String?
    /// The field lines, in their order.
    package let fields: FieldSection
    /// The body; empty when there is none.
    package let body: [UInt8]
    /// The client's address in numbers, without the port; empty when the system does not tell it.
    package let remoteAddress: String
    /// The subprotocols that a request for a WebSocket offers, the preferred one first; nil for any other request.
    package let offeredSubprotocols: [String]?

    /// Indicates whether the client asks for a WebSocket, which `HTTPExchange.accept(subprotocol:fields:)` opens.
    package var isWebSocketUpgrade: Bool { self.offeredSubprotocols != nil }
}
