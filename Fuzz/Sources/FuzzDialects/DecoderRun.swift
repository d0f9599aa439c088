// The decoder's side: an answer is decoded event by event, from memory of exactly the promised size.

import ResponseEvents

/// The reading of an answer by a decoder.
struct DecoderRun {
    /// The reading of one event, or of the end of the body.
    struct Step: Equatable {
        enum Meaning: Equatable {
            case event(isSurfaced: Bool)
            case end
            case otherAPI(ChappieDialect)
            case other
            /// The decoder refused the event, which ends an attempt.
            case error(String)
            case bodyEnd
        }

        let meaning: Meaning
        /// The events that were emitted.
        var events: [[UInt8]] = []
    }

    let isChat: Bool
    /// The bytes of the events that were read.
    private(set) var inputByteCount = 0
    /// The objects in them, each of which may become an event.
    private(set) var objectCount = 0
    private(set) var steps: [Step] = []

    /// Decodes an answer in a fresh decoder.
    ///
    /// - Parameters:
    ///   - answer: the answer.
    ///   - padding: the byte behind the data of an event.
    ///   - isDisturbed: each event is asked whether it is the last one, and stands behind one that says nothing, so that
    ///     no delta is read by the frame of the one before.
    init(_ answer: ServerAnswer, padding: UInt8, isDisturbed: Bool = false) {
        self.isChat = answer.isChat
        let decoder: any DialectDecoder = answer.isChat ? ChatCompletionsDecoder() : MessagesDecoder()
        for event in answer.events {
            self.inputByteCount += event.data.count
            self.objectCount += event.data.count { $0 == UInt8(ascii: "{") }
            if isDisturbed { _ = Self.step(Self.ping, decoder, padding, asksForEnd: true) }
            let step = Self.step(event, decoder, padding, asksForEnd: isDisturbed)
            self.steps.append(step)
            if case .error = step.meaning { return }
        }
        guard answer.endsInOrder else { return }
        self.steps.append(Step(meaning: .bodyEnd, events: Self.copies(of: decoder.end())))
        self.steps.append(Step(meaning: .bodyEnd, events: Self.copies(of: decoder.end())))
    }

    private static let ping = ServerAnswer.Event(type: [], data: Array(#"{"type":"ping"}"#.utf8))

    private static func step(
        _ event: ServerAnswer.Event, _ decoder: any DialectDecoder, _ padding: UInt8, asksForEnd: Bool
    ) -> Step {
        // Memory of exactly the promised size lets the address sanitizer see a read too far.
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: event.data.count + ResponseEventDecoder.paddingByteCount, alignment: 1)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: padding)
        memory.copyBytes(from: event.data)
        let data = UnsafeRawBufferPointer(rebasing: memory[..<event.data.count])
        if asksForEnd { _ = decoder.isTerminal(data) }
        return event.type.withUnsafeBytes { type in
            do throws(ResponseEventError) {
                switch try decoder.read(data, named: type) {
                case .event(let events, let isSurfaced):
                    return Step(meaning: .event(isSurfaced: isSurfaced), events: Self.copies(of: events))
                case .output(let delta):
                    return Step(meaning: .event(isSurfaced: true), events: Self.copies(of: TranslatedEvents(delta)))
                case .end(let events): return Step(meaning: .end, events: Self.copies(of: events))
                case .otherAPI(let dialect): return Step(meaning: .otherAPI(dialect))
                case .other: return Step(meaning: .other)
                }
            } catch {
                return Step(meaning: .error("\(error)"))
            }
        }
    }

    private static func copies(of events: TranslatedEvents) -> [[UInt8]] {
        var copies: [[UInt8]] = []
        events.forEach { copies.append(Array($0)) }
        return copies
    }
}
