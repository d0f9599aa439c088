// The members of a JSON-RPC message that a transport has to know.
import Foundation

/// The envelope of a message: a request, a notification or a response.
struct Envelope: Decodable {
    /// The identifier of a request: a number or a string.
    enum Identifier: Decodable, Equatable {
        case number(Int)
        case string(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) {
                self = .number(number)
            } else {
                self = .string(try container.decode(String.self))
            }
        }
    }

    /// The result of a request, as far as a transport has to know it.
    struct Outcome: Decodable {
        /// The version of the protocol that `initialize` has agreed on.
        var protocolVersion: String?
    }

    /// The identifier of a request, or of the request that a response answers; nil for a notification.
    var id: Identifier?
    /// The method of a request or a notification; nil for a response.
    var method: String?
    /// The result of a response; nil for an error.
    var result: Outcome?

    /// Reads a message.
    init(_ data: Data) throws { self = try JSONDecoder().decode(Self.self, from: data) }

    /// Indicates whether the message has to be answered by a response.
    var isRequest: Bool { self.method != nil && self.id != nil }

    /// Indicates whether this is the response to a request.
    func answers(_ request: Envelope) -> Bool { self.method == nil && self.id != nil && self.id == request.id }
}
