/// A sentence with places for the facts of a failure: `"larger than\(.limit)"`.
///
/// The text of a fact in the middle of a sentence brings its own leading space or colon. That of an unknown fact is
/// general, or empty.
package struct FailureText: ExpressibleByStringInterpolation, Sendable {
    /// A fact of a failure.
    package enum Fact: Sendable {
        /// The detail, after a colon.
        case detail
        /// The reason for a refused TLS handshake, after a colon.
        case refusal
        /// ` with status code N`.
        case status
        /// A SOCKS proxy's reply.
        case reply
        /// ` with code N`, of a WebSocket's end.
        case closeCode
        /// ` the limit of N bytes`.
        case limit
        /// ` (N bytes)`.
        case size
        /// ` of N (ulimit -n)`.
        case descriptors
        /// The name of the API that the endpoint speaks.
        case api
        /// The value of `--dialect` for that API.
        case dialect
        /// The time until another attempt.
        case wait
        /// The clause about an address with the other scheme: `the base URL begins with https`.
        case otherScheme
    }

    fileprivate enum Piece: Sendable {
        case text(String)
        case fact(Fact)
    }

    /// Collects the parts of an interpolated literal.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var pieces: [Piece] = []

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) { self.pieces.append(.text(literal)) }

        package mutating func appendInterpolation(_ fact: Fact) { self.pieces.append(.fact(fact)) }
    }

    private let pieces: [Piece]

    package init(stringLiteral value: String) { self.pieces = [.text(value)] }

    package init(stringInterpolation: StringInterpolation) { self.pieces = stringInterpolation.pieces }

    /// Returns the text with the facts in their places.
    package func filled(by fact: (Fact) -> String) -> String {
        self.pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .fact(let name): fact(name)
            }
        }.joined()
    }
}
