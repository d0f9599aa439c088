package import ResponseEvents
import StreamTransport

/// The functions of a hub that a server in front of it needs beside the public ones.
extension ChappieHub {
    /// The client of a server that starts a stream, and the members of its request that the server itself reads.
    package struct Client: Sendable {
        /// The user to whom alone `facts(of:for:)` gives the stream's facts; nil for a stream without one.
        package var reader: String?
        /// The maximum number of the user's streams that this process makes.
        package var streamLimit = Int.max
        /// The response that this stream's response continues; nil for none.
        package var previousResponseID: String?
        /// Indicates whether the response goes on without its client (`background`).
        package var isBackground = false

        /// Creates a client without a user.
        package init() {}
    }

    /// The facts of a stream, from its header and its end.
    package struct Facts: Sendable {
        /// The user that the stream was started for; nil when none was named.
        package var reader: String?
        /// The state of the stream when it was read.
        package var state: ChappieStreamState
        /// Seconds since 1970.
        package var createdAt: Int
        /// The end of a complete response, in seconds since 1970; nil for another one.
        package var completedAt: Int?
        /// The response that this one continues; nil for none.
        package var previousResponseID: String?
        /// Indicates whether the client has asked for a response that goes on without it.
        package var isBackground: Bool
        /// The model of the request.
        package var model: String?
        /// The model that answered.
        package var upstreamModel: String?
        package var usage: ChappieTokenUsage?
        /// The items of the complete response, each the JSON text of an object.
        package var items: [String]
        /// The request's body.
        package var body: String
    }

    /// The number of streams that this process makes now.
    package var producerCount: Int { self.state.withLock { $0.producers.count } }

    /// Returns the facts of a stream that was started for this user; nil is for a stream without one.
    ///
    /// Throws `ChappieHubError`: `unknownStream` for the stream of another user as well, and `journal`.
    package func facts(of id: ChappieStreamID, for reader: String?) async throws -> Facts {
        let (stream, header) = try await self.stream(id, for: reader)
        let end = try await self.end(of: stream)
        return Facts(
            reader: reader, state: ChappieStreamState(stream, end), createdAt: header.createdAt,
            completedAt: end?.completedAt, previousResponseID: header.previousResponseID,
            isBackground: header.isBackground ?? false, model: header.request?.model,
            upstreamModel: end?.response?.model, usage: end?.response?.usage,
            items: end?.response?.items ?? [], body: header.request?.body ?? "{}")
    }

    /// Fails unless a stream was started for this user, also where its end cannot be read.
    ///
    /// Throws `ChappieHubError`: `unknownStream`, `journal`.
    package func requireStream(_ id: ChappieStreamID, for reader: String?) async throws {
        _ = try await self.stream(id, for: reader)
    }

    private func stream(
        _ id: ChappieStreamID, for reader: String?
    ) async throws -> (stream: ChappieJournaledStream, header: JournaledRequest) {
        let stream = try await self.stream(id)
        guard let header = JournaledRequest(stream.header) else {
            throw ChappieHubError.journal(.damaged("the header of \(id) cannot be read"))
        }
        guard header.reader == reader else { throw ChappieHubError.unknownStream }
        return (stream, header)
    }
}
