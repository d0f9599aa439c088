// Every answer that is served, rendered by the test server and read once by the client, uncut.
//
// Made once at the start; immutable then.
import ChappieTestServer
import Foundation
import ResponseEvents

/// The answers of all sessions.
struct Catalog: Sendable {
    /// The answers of one session on one wire.
    struct Answers: Sendable {
        /// The first answer.
        var first: RenderedAnswer
        /// The same response in other pieces, and in ways that are odd.
        var rechunked: [RenderedAnswer] = []
        /// Other responses.
        var diverging: [RenderedAnswer] = []
        /// The same response with closing events that contradict it.
        var contradicting: [RenderedAnswer] = []
    }

    /// An answer that could not be rendered.
    struct Failure: Error, CustomStringConvertible {
        /// The description of the error.
        var description: String
    }

    private struct Key: Hashable {
        var session: String
        var wire: Wire
    }

    private static let rechunkedCount = 6

    private var answers: [Key: Answers] = [:]

    /// The answers of a session on a wire.
    func answers(_ session: String, _ wire: Wire) -> Answers? { self.answers[Key(session: session, wire: wire)] }

    /// Returns the answers for a case; nil when there is no such session.
    func script(for torture: TortureCase, seed: UInt64) -> ReplayServer.Script? {
        let combination = torture.combination
        guard let answers = self.answers(combination.session, combination.wire),
            let others = self.answers(combination.session, combination.wire.fallback)
        else { return nil }
        let number = Int(truncatingIfNeeded: torture.number(seed: seed) >> 8)
        let pick = { (answers: Answers) -> RenderedAnswer in
            switch combination.replay {
            case .identical: answers.first
            case .rechunked: answers.rechunked[number % answers.rechunked.count]
            case .diverging, .restarting: answers.diverging[number % answers.diverging.count]
            case .contradicting:
                // Behind a first answer that contradicts itself, the second one may be sound.
                number % 4 == 0 ? answers.first : answers.contradicting[number % answers.contradicting.count]
            }
        }
        var first = answers.first
        if combination.replay == .contradicting, number % 4 < 2 {
            first = answers.contradicting[number / 4 % answers.contradicting.count]
        }
        return .init(
            first: first, cut: combination.cut, offset: min(torture.offset, first.bytes.count), replay: pick(answers),
            fallback: pick(others))
    }

    // MARK: Rendering

    /// Renders the sessions.
    init(_ sessions: [Session], seed: UInt64) async throws {
        for session in sessions {
            let rechunked = (0..<Self.rechunkedCount + Oddity.allCases.count).map { number in
                var rewriting = ResponseRewriting(
                    session.lines, random: RandomNumbers(seed: seed, name: "\(session.name) \(number)"))
                rewriting.rechunk()
                rewriting.rename("-r\(number)")
                let oddity = number < Self.rechunkedCount ? nil : Oddity.allCases[number - Self.rechunkedCount]
                if let oddity { rewriting.makeOdd(oddity) }
                let lines = rewriting.lines(escapesNonASCII: number % 2 == 1)
                guard oddity == .repeatedEvents else { return lines }
                return ResponseRewriting.repeating(lines, using: &rewriting.random)
            }
            let diverging = (0..<Divergence.variantCount).map {
                Divergence.lines(of: session, variant: $0, seed: seed)
            }
            let contradicting = (0..<Contradiction.variantCount).map {
                Self.contradicting(session, variant: $0, seed: seed)
            }
            for wire in Wire.allCases {
                var answers = Answers(first: try await Self.render(session.lines, wire))
                // Custom tools and closing events have no form in the other dialects.
                let isResponses = wire.dialect == .responses
                guard isResponses || !answers.first.output.pieces.isEmpty else { continue }
                for (number, lines) in rechunked.prefix(isResponses ? .max : Self.rechunkedCount).enumerated() {
                    answers.rechunked.append(try await Self.render(lines, wire, form: number + 1))
                }
                for lines in diverging { answers.diverging.append(try await Self.render(lines, wire)) }
                for (number, lines) in contradicting.enumerated() where isResponses {
                    answers.contradicting.append(try await Self.render(lines, wire, form: number + 1))
                }
                self.answers[Key(session: session.name, wire: wire)] = answers
            }
        }
    }

    /// The response in other pieces, in one of three cases said in an odd way, and contradicted by its closing events.
    private static func contradicting(_ session: Session, variant: Int, seed: UInt64) -> [String] {
        var rewriting = ResponseRewriting(
            session.lines, random: RandomNumbers(seed: seed, name: "\(session.name) contradiction \(variant)"))
        rewriting.rechunk()
        rewriting.rename("-c\(variant)")
        rewriting.contradict(variant: variant)
        let oddity = Oddity.allCases[variant / 3 % Oddity.allCases.count]
        guard variant % 3 == 0 else { return rewriting.lines(escapesNonASCII: variant % 2 == 1) }
        rewriting.makeOdd(oddity)
        let lines = rewriting.lines(escapesNonASCII: variant % 2 == 1)
        return oddity == .repeatedEvents ? ResponseRewriting.repeating(lines, using: &rewriting.random) : lines
    }

    /// Lets the test server send a response to the client through a relay, and checks what the client makes of it.
    private static func render(_ lines: [String], _ wire: Wire, form: Int = 0) async throws -> RenderedAnswer {
        var output = ResponseOutput(lines: lines, dialect: wire.dialect)
        var configuration = self.configuration(lines, wire, form: form)
        // A client that finds the contradiction leaves; what was written at once is recorded all the same.
        if output.isContradicted { configuration.writeMode = .batched }
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        let relay = try RecordingRelay(to: server.port)
        let transcript = await ClientTurn(port: relay.port, wire: wire, dialect: wire.dialect).transcript()
        var bytes = await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: relay.finish()) }.start()
        }
        // The answer to the client's Close frame, with code 1000 or 1001, is no part of the response.
        let closing = bytes.suffix(4)
        if wire.isWebSocket, closing.starts(with: [0x88, 0x02, 0x03]), [0xE8, 0xE9].contains(closing.last) {
            bytes.removeLast(4)
        }
        if wire.dialect != .responses { output.take(rawEvents: transcript.entries.rawPayloads) }
        guard let rendered = RenderedAnswer(bytes, wire: wire, output: output) else {
            throw Failure(description: "the test server's answer on \(wire.rawValue) cannot be read")
        }
        let isRight = OutputChannel.allCases.allSatisfy { transcript.entries.bytes($0) == output.bytes($0) }
        let isEndRight =
            output.isContradicted
            ? transcript.isContradicted && transcript.entries.rawPayloads.starts(with: output.raw)
            : transcript.error == nil && transcript.entries.rawPayloads == output.raw
                && output.raw.compactMap { output.callOfEvent[$0] } == output.calls
        guard isRight, isEndRight else {
            throw Failure(
                description: "an uncut answer on \(wire.rawValue) does not arrive as it was sent, "
                    + "\(output.isContradicted ? "and contradicts itself, " : "")and ends with "
                    + "\(transcript.error.map { String(describing: $0) } ?? "no error"):\n"
                    + lines.joined(separator: "\n"))
        }
        return rendered
    }

    private static func configuration(
        _ lines: [String], _ wire: Wire, form: Int
    ) -> ChappieTestServer.Configuration {
        var configuration = ChappieTestServer.Configuration(model: .custom { _ in lines })
        let deflate: [ChappieTestServer.DeflateParameters] = [.init(), .init(), .ownContexts, .shortWindow]
        configuration.messageCompression = wire.isCompressed ? .deflate(deflate[form % deflate.count]) : .off
        configuration.contentCoding = wire.isCompressed ? .gzip : .identity
        let endings: [ChappieTestServer.LineEnding] = [.lineFeed, .carriageReturnLineFeed, .carriageReturn]
        configuration.lineEnding = endings[form % endings.count]
        let modes: [ChappieTestServer.WriteMode] = [.batched, .bytes(61), .events(3), .bytes(7)]
        configuration.writeMode = modes[form % modes.count]
        return configuration
    }
}

extension ChappieTestServer.DeflateParameters {
    /// Every message compressed on its own.
    fileprivate static var ownContexts: Self {
        var parameters = Self()
        parameters.serverNoContextTakeover = true
        return parameters
    }

    /// A short window, and short messages as they are.
    fileprivate static var shortWindow: Self {
        var parameters = Self()
        parameters.serverMaxWindowBits = 9
        parameters.minimumByteCount = 120
        return parameters
    }
}
