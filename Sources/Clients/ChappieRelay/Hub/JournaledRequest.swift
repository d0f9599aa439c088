import ChappieTransport
import PlatformFoundation
import TransportSurface

/// The header of a stream: how a successor of its producer makes it.
///
/// A value.
struct JournaledRequest: Sendable, Equatable, Codable {
    /// The version of this form.
    var version = 1
    /// The time of the stream's start, in seconds since 1970.
    var createdAt: Int
    /// The user that a server has started it for; nil when none was named.
    var reader: String?
    /// The response that this one continues, by the identifier that its client gave.
    var previousResponseID: String?
    /// Indicates whether its client has asked for a response that goes on without it; nil in headers of older versions, and
    /// for a stream that `publish` has made.
    var isBackground: Bool?
    /// The request's own parts, without any credential; nil for a stream that only its first producer can make.
    var request: Parts?

    struct Parts: Sendable, Equatable, Codable {
        var body: String
        var prompt: String?
        var model: String?
        var instructions: String?
        var reasoningEffort: String?
        var serviceTier: String?
        var searchesWeb: Bool
        var requestID: String?
        var fields: [[String]]
    }

    /// Creates the header of a stream that no other process can make.
    init(createdAt: Int) { self.createdAt = createdAt }

    /// Creates the header of a request: fields whose names suggest a credential are left out.
    init(_ request: ChappieTransportRequest, createdAt: Int, for client: ChappieHub.Client = ChappieHub.Client()) {
        self.createdAt = createdAt
        self.reader = client.reader
        self.previousResponseID = client.previousResponseID
        self.isBackground = client.isBackground
        self.request = Parts(
            body: String(decoding: request.body, as: UTF8.self), prompt: request.prompt, model: request.model,
            instructions: request.instructions, reasoningEffort: request.reasoningEffort,
            serviceTier: request.serviceTier, searchesWeb: request.searchesWeb, requestID: request.requestID,
            fields: request.fields.filter { !FieldSecrets.isSecret($0.name) }.map { [$0.name, $0.value] })
    }

    /// Reads a header; nil for one of another form.
    init?(_ header: [UInt8]) {
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(header)), value.version == 1 else {
            return nil
        }
        self = value
    }

    /// The header's bytes.
    var bytes: [UInt8] { Array((try? JSONEncoder().encode(self)) ?? Data()) }

    /// The request, for the successor.
    var transportRequest: ChappieTransportRequest? {
        guard let parts = self.request else { return nil }
        var request = ChappieTransportRequest(body: Array(parts.body.utf8))
        request.prompt = parts.prompt
        request.model = parts.model
        request.instructions = parts.instructions
        request.reasoningEffort = parts.reasoningEffort
        request.serviceTier = parts.serviceTier
        request.searchesWeb = parts.searchesWeb
        request.requestID = parts.requestID
        request.fields = parts.fields.filter { $0.count == 2 }.map { ($0[0], $0[1]) }
        return request
    }
}
