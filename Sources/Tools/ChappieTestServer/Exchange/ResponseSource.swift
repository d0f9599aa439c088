// The source of responses: the scripted model, recordings in turn, or a closure.
//
// Shared by all connection threads; one lock guards the counters.

/// Returns the script of each response.
final class ResponseSource: Sendable {
    /// A response to send.
    struct Response: Sendable {
        var script: ResponseScript
        /// The recording that it comes from.
        fileprivate var recording: Int?
    }

    /// The parameters of a response.
    struct Demand: Sendable {
        var body: JSONValue
        var bodyBytes: [UInt8]
        var attempt: Int
        var transport: ChappieTestServer.Transport
        var textChanges: [ScriptedRequest.TextChange]
        var conversation: Conversation
    }

    private struct State {
        var responses = 0
        var recording = 0
    }

    private let model: ChappieTestServer.Model
    private let state = Monitor(State())

    /// The whole text of the scripted model.
    private let text: String
    private let recordings: [Recording]

    /// Creates the source of a model.
    ///
    /// The parts that all responses share are made here, once.
    init(_ model: ChappieTestServer.Model) {
        switch model {
        case .scripted(let scripted): (self.text, self.recordings) = (scripted.fullText, [])
        case .recordings(let recordings): (self.text, self.recordings) = ("", recordings.map(Recording.init))
        case .custom: (self.text, self.recordings) = ("", [])
        }
        self.model = model
    }

    /// The seed of the ids.
    private var seed: UInt64 {
        if case .scripted(let model) = self.model { model.seed } else { 1 }
    }

    /// Returns the next response's number, over all attempts.
    private func nextNumber() -> Int {
        self.state.withLock { state in
            state.responses += 1
            return state.responses
        }
    }

    private func request(_ demand: Demand) -> ScriptedRequest {
        ScriptedRequest(
            body: demand.body,
            bodyByteCount: demand.bodyBytes.count,
            attempt: demand.attempt,
            response: self.nextNumber(),
            textChanges: demand.textChanges,
            conversation: demand.conversation
        )
    }

    /// Returns the response to a request.
    func response(to demand: Demand) -> Response {
        let request = self.request(demand)
        switch self.model {
        case .scripted(let model):
            return Response(script: model.script(for: request, text: self.text))
        case .recordings:
            let index = self.state.withLock { $0.recording }
            let count = self.recordings.count
            let recording = count == 0 ? Recording([]) : self.recordings[index % count]
            let script = ResponseScript(recording, identity: request.identity(seed: self.seed))
            return Response(script: script, recording: index)
        case .custom(let make):
            let lines = make(
                .init(
                    attempt: demand.attempt,
                    response: request.response,
                    transport: demand.transport,
                    bodyText: String(decoding: demand.bodyBytes, as: UTF8.self)
                ))
            return Response(script: ResponseScript(Recording(lines), identity: request.identity(seed: self.seed)))
        }
    }

    /// Returns the answer to a warm-up: a response without output.
    func warmUp(for demand: Demand) -> ResponseScript {
        let identity = self.request(demand).identity(seed: self.seed)
        var script = ResponseScript(identity: identity)
        script.add("response.created", "\"response\":\(identity.object(status: "in_progress"))")
        let usage = ResponseIdentity.usage(
            inputByteCount: demand.bodyBytes.count, outputByteCount: 0, reasoningTokens: 0)
        script.add("response.completed", "\"response\":\(identity.object(status: "completed", usage: usage))")
        return script
    }

    /// Advances to the next recording, once for each response.
    func delivered(_ response: Response) {
        guard let recording = response.recording else { return }
        self.state.withLock { state in
            if state.recording == recording { state.recording += 1 }
        }
    }
}
