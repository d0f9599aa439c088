// One play of a recorded stream: served by the test server, read by the client, held against the index.
//
// Runs on its caller's task.
import ChappieTestServer
import ChappieTransport

/// One play of a recorded stream.
struct CorpusPlay: Sendable {
    /// A fact that is not as the index says.
    struct Difference: Hashable, Sendable {
        /// The fact's name.
        var fact: String
        /// The value that the index states.
        var expected: String
        /// The value that was delivered.
        var delivered: String
    }

    /// The stream.
    var stream: CorpusStream
    /// The wire.
    var wire: Wire
    /// The number of events after which the first connection ends; nil for a stream that is not cut.
    var cut: Int?

    /// Plays the stream; a play that is cut is answered with the same stream again.
    func differences() async throws -> [Difference] {
        var configuration = ChappieTestServer.Configuration(model: .recordings([self.stream.lines]))
        if let cut { configuration.faults = [.init(.cutAfterEvent(event: cut), attempts: 1...1)] }
        configuration.messageCompression = self.wire.isCompressed ? .deflate(.init()) : .off
        configuration.contentCoding = self.wire.isCompressed ? .gzip : .identity
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        let transcript = await ClientTurn(
            port: Int(server.port), wire: self.wire, dialect: self.stream.dialect
        ).transcript()
        let delivered = StreamFacts(transcript)
        var differences = zip(self.stream.expected.values, delivered.values).compactMap { expected, delivered in
            expected.value.utf8.elementsEqual(delivered.value.utf8)
                ? nil : Difference(fact: expected.name, expected: expected.value, delivered: delivered.value)
        }
        if self.cut != nil, transcript.report?.attempts.count ?? 0 < 2 {
            differences.append(Difference(fact: "attempts", expected: "a second one behind the cut", delivered: "none"))
        }
        return differences
    }
}

extension Transcript {
    /// The items, in the order of the output, each as the last event about it has it.
    ///
    /// Of two of the three lists of tools in openai-gpt-4-1-mcp-list-tools no end was sent.
    var items: [[String: Any]] {
        var items: [Int: [String: Any]] = [:]
        for case .raw(let type, let payload) in self.entries where type.hasPrefix("response.output_item.") {
            guard let event = JSONText.object(payload) else { continue }
            items[event["output_index"] as? Int ?? items.count] = event["item"] as? [String: Any]
        }
        return items.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The response as the end of the stream described it, of a failed one too.
    var lastResponse: ChappieResponse? {
        guard case .responseTerminalFailure(let response)? = self.error as? ChappieClientError else {
            return self.response
        }
        return response
    }

    /// The status with which the response ended; otherwise the tag of the error.
    var end: String {
        guard let error else { return self.response?.status ?? "no end" }
        switch error as? ChappieClientError {
        case .responseTerminalFailure(let response): return response.status
        case .usageLimitReached: return "failed"
        case let error?: return error.tag
        case nil: return "\(error)"
        }
    }

    /// The code of the server's error, or its reason for an incomplete response.
    var reason: String? {
        guard case .usageLimitReached(let limit)? = self.error as? ChappieClientError else {
            return self.lastResponse?.errorCode ?? self.lastResponse?.incompleteReason
        }
        return limit.type
    }
}
