// The server, in a process of its own and on a core of its own.
import BenchmarkResults
import CStreamScript
import Foundation

/// A running `stream-server`; it ends with the process that holds it.
final class StreamServer {
    /// The kind of responses.
    enum Mode {
        /// `messageCount` messages as fast as they are read; unless it is 0, pauses after `pauseAfter` and after all.
        case flood(messageCount: Int, pauseAfter: Int = 0)
        /// The beginning of a response alone.
        case idle
        /// `messageCount` messages, `perSecond` of them a second, with the moment of sending in each.
        case pace(messageCount: Int, perSecond: Int)
        /// A message of the next response whenever the client asks for one, with the moment of sending in it.
        case turns
        /// None: messages of the client are compared, counted and dropped.
        case drop

        var arguments: [String] {
            switch self {
            case .flood(let count, let pause):
                ["flood", "--messages", String(count), "--pause-after", String(pause)]
            case .idle: ["idle"]
            case .turns: ["turns"]
            case .drop: ["drop"]
            case .pace(let count, let rate): ["pace", "--messages", String(count), "--rate", String(rate)]
            }
        }
    }

    let port: UInt16
    /// The file with its certificate; nil without TLS.
    let certificatePath: String?
    /// Nil when another program has started it.
    private let process: ChildProcess?

    /// Starts it; on a core of its own when it `isPinned`.
    init(_ mode: Mode, isSecure: Bool = false, compresses: Bool = false, isPinned: Bool = true) throws {
        self.certificatePath = isSecure ? NSTemporaryDirectory() + "connection-cost-\(UUID().uuidString).pem" : nil
        let core = isPinned ? Cores.pair?.server : nil
        let arguments =
            mode.arguments + (self.certificatePath.map { ["--tls", $0] } ?? [])
            + (compresses ? ["--deflate", "--gzip"] : [])
            + (core.map { ["--core", String($0)] } ?? [])
        let process = try ChildProcess(Programs.server, arguments)
        self.process = process
        // It prints nothing more before its end.
        let line = process.availableText()
        guard let port = UInt16(line.filter(\.isNumber)) else { throw WrongResultError("the server did not start") }
        self.port = port
    }

    /// Names a server that another program has started.
    init(port: UInt16, certificatePath: String?) {
        (self.port, self.certificatePath, self.process) = (port, certificatePath, nil)
    }

    /// The descriptor by which a byte asks for a message; nil when another program has started the server.
    var inputDescriptor: CInt? { self.process?.inputDescriptor }

    /// Ends the pause of every response.
    func goOn() throws { try self.process?.nudge() }

    deinit {
        if self.process != nil, let path = self.certificatePath { try? FileManager.default.removeItem(atPath: path) }
    }
}

/// The content of a response of `messageCount` messages.
struct ExpectedResponse {
    let messageCount: Int
    let textByteCount: Int

    init(messageCount: Int) {
        self.messageCount = messageCount
        let (blockCount, rest) = messageCount.quotientAndRemainder(dividingBy: Self.block.count - 1)
        self.textByteCount = blockCount * Self.block[Self.block.count - 1] + Self.block[rest]
    }

    /// The bytes of text in the first messages of a block, by the number of messages.
    ///
    /// It is computed once for a whole block, so that its cost does not depend on the length of a response.
    private static let block = {
        var text = [CChar](repeating: 0, count: Int(CSS_TEXT_CAPACITY) + 1)
        var counts = [0]
        for number in 0..<UInt64(CSS_BLOCK_COUNT) { counts.append(counts[Int(number)] + css_text(number, &text)) }
        return counts
    }()

    /// The hash of all text.
    func hash() -> UInt64 {
        var text = [CChar](repeating: 0, count: Int(CSS_TEXT_CAPACITY) + 1)
        var hash: UInt64 = 0
        for number in 0..<UInt64(self.messageCount) {
            let count = css_text(number, &text)
            hash = css_hash(hash, text, count)
        }
        return hash
    }
}
