import Foundation
import Testing

/// `chappie ws` as a person runs it.
@Suite(.timeLimit(.minutes(10))) struct WebSocketCommandTests {
    private static let script = #"printf '%s' "$INPUT" | "$0" "$@" 2>"$CHAPPIE_HOME/errors""#

    /// Runs the program against a server; returns it, and the server's end of its connection.
    private static func start(
        _ options: [String] = [], input: String
    ) async throws -> (outcome: Task<CommandProgram.Outcome, any Error>, peer: RawPeer) {
        let server = try RawServer()
        let program = try CommandProgram()
        let words = ["ws", "ws://127.0.0.1:\(server.port)/chat", "--no-compression"] + options
        let outcome = Task {
            try await program.run(script: Self.script, words, environment: ["INPUT": input])
        }
        return (outcome, try await server.accept())
    }

    private static let normalClosure: [UInt8] = [0x03, 0xE8]

    @Test func linesAreSentAndMessagesArePrinted() async throws {
        let (outcome, peer) = try await Self.start(["--subprotocol", "v1.chat", "--linger", "0"], input: "one\ntwö")
        let head = await peer.acceptWebSocket("Sec-WebSocket-Protocol: v1.chat")
        #expect(head.contains("\r\nSec-WebSocket-Protocol: v1.chat\r\n"))
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 1, payload: Array("one".utf8)))
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 1, payload: Array("twö".utf8)))
        // The end of the input closes; what comes before the server's close frame is printed.
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 8, payload: Self.normalClosure))
        peer.write(RawPeer.frame(1, Array("answer".utf8)) + RawPeer.frame(2, [0, 255]))
        peer.writeFrame(opcode: 8, Self.normalClosure)
        peer.endWriting()
        let result = try await outcome.value
        #expect(result.output == "answer\n00ff\n")
        #expect(result.errorOutput == "closed with code 1000\n")
        #expect(result.status == 0)
    }

    /// A server that answers takes its time, and the end of the input does not close before.
    @Test func answersBehindTheEndOfTheInputArePrinted() async throws {
        let (outcome, peer) = try await Self.start(["--linger", "3600"], input: "hello")
        await peer.acceptWebSocket()
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 1, payload: Array("hello".utf8)))
        peer.writeText("one")
        peer.writeText("two")
        peer.writeFrame(opcode: 8, Self.normalClosure)
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 8, payload: Self.normalClosure))
        peer.endWriting()
        let result = try await outcome.value
        #expect(result.output == "one\ntwo\n")
        #expect(result.errorOutput == "closed by the server with code 1000\n")
        #expect(result.status == 0)
    }

    @Test func jsonOutputEndsWithCloseAndError() async throws {
        let (outcome, peer) = try await Self.start(["--json", "--keep-open"], input: "")
        await peer.acceptWebSocket()
        peer.writeText("a\"b")
        peer.writeFrame(opcode: 8, [0x03, 0xF3] + Array("went wrong".utf8))
        peer.endWriting()
        let result = try await outcome.value
        let lines = result.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 4)
        #expect(lines.first?.hasPrefix(#"{"type":"open","compressed":false,"duration":"#) == true)
        #expect(
            lines.dropFirst().prefix(2) == [
                #"{"type":"text","text":"a\"b"}"#,
                #"{"type":"close","code":1011,"reason":"went wrong","initiator":"server"}"#,
            ])
        #expect(lines.last?.hasPrefix(#"{"type":"error","tag":"ws.close.1011","category":"server""#) == true)
        #expect(result.status == 69)
    }

    @Test func jsonOutputOfAnInterruptedCommandEndsWithAnError() async throws {
        let server = try RawServer()
        let words = ["ws", "ws://127.0.0.1:\(server.port)/", "--no-compression", "--json", "--keep-open"]
        let child = try ChildProcess(CommandProgram.path, words, environment: ["NO_PROXY": "*"])
        let peer = try await server.accept()
        await peer.acceptWebSocket()
        peer.writeText("a")
        #expect(await child.hasLine(containing: #"{"type":"text","text":"a"}"#))
        child.send(SIGINT)
        #expect(await peer.readCloseCode() == 1001)
        peer.close()
        #expect(
            await child.allOutput().split(separator: "\n").last
                == #"{"type":"error","tag":"cancelled","retryable":true,"safeDescription":"Interrupted."}"#)
        #expect(await child.status() == 130)
    }

    @Test func jsonOutputEndsWithAnErrorWhereTheInputCannotBeRead() async throws {
        let server = try RawServer()
        let program = try CommandProgram()
        let words = ["ws", "ws://127.0.0.1:\(server.port)/", "--no-compression", "--json"]
        let outcome = Task {
            // A folder cannot be read.
            try await program.run(script: #""$0" "$@" </ 2>"$CHAPPIE_HOME/errors""#, words)
        }
        let peer = try await server.accept()
        await peer.acceptWebSocket()
        #expect(await peer.readCloseCode() == 1001)
        let result = try await outcome.value
        let line = #"{"type":"error","tag":"input-output","category":"internal","retryable":false,"#
        #expect(result.output.split(separator: "\n").last?.hasPrefix(line) == true)
        #expect(result.status == 69)
    }

    @Test func textThatIsNotUTF8IsAFailureAlsoInFrontOfAClose() async throws {
        let (outcome, peer) = try await Self.start(["--keep-open"], input: "")
        await peer.acceptWebSocket()
        let frames: [(UInt8, [UInt8])] = [
            (1, Array("one".utf8)), (1, [0xFF]), (1, Array("three".utf8)), (8, Self.normalClosure),
        ]
        peer.write(frames.flatMap { RawPeer.frame($0.0, $0.1) })
        peer.endWriting()
        let result = try await outcome.value
        #expect(result.output == "one\n")
        #expect(result.status == 65)
    }

    @Test func missingCloseFrameIsReportedAfterTheTimeout() async throws {
        let (outcome, peer) = try await Self.start(["--close-timeout", "0.2"], input: "")
        await peer.acceptWebSocket()
        #expect(await peer.readCloseCode() == 1000)
        let result = try await outcome.value
        #expect(result.errorOutput.contains("did not complete the closing handshake within its time limit"))
        #expect(result.status == 69)
    }

    @Test func aRefusalEndsWithItsExitCode() async throws {
        let (outcome, peer) = try await Self.start(input: "")
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 7\r\n\r\nno key!")
        let result = try await outcome.value
        #expect(result.output.isEmpty)
        #expect(
            result.errorOutput.contains("status code 401") && result.errorOutput.contains("the server says: no key!"))
        #expect(result.status == 77)
    }

    @Test func aLineThatIsNotUTF8IsNotSent() async throws {
        let server = try RawServer()
        let program = try CommandProgram()
        let words = ["ws", "ws://127.0.0.1:\(server.port)/", "--no-compression"]
        let outcome = Task {
            try await program.run(script: #"printf '\377\n' | "$0" "$@" 2>"$CHAPPIE_HOME/errors""#, words)
        }
        let peer = try await server.accept()
        await peer.acceptWebSocket()
        #expect(await peer.readCloseCode() == 1001)
        let result = try await outcome.value
        #expect(result.status == 64 && result.errorOutput.contains("--binary"))
    }
}
