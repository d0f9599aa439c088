// The server, in a process of its own and on a core of its own.
import CStreamScript
import Foundation

/// A running `stream-server`; it ends with the process that holds it.
final class StreamServer {
    /// What it sends.
    enum Mode {
        /// So many messages, as fast as they are read.
        case flood(messageCount: Int)
        /// The beginning of a response, and nothing more.
        case idle
        /// So many messages, so many a second, with the moment in them.
        case pace(messageCount: Int, perSecond: Int)

        var arguments: [String] {
            switch self {
            case .flood(let count): ["flood", "--messages", String(count)]
            case .idle: ["idle"]
            case .pace(let count, let rate): ["pace", "--messages", String(count), "--rate", String(rate)]
            }
        }
    }

    let port: UInt16
    /// The file with its certificate; nil without TLS.
    let certificatePath: String?
    private let process: ChildProcess

    init(_ mode: Mode, isSecure: Bool = false, compresses: Bool = false) throws {
        self.certificatePath = isSecure ? NSTemporaryDirectory() + "connection-cost-\(UUID().uuidString).pem" : nil
        let arguments =
            mode.arguments + (self.certificatePath.map { ["--tls", $0] } ?? [])
            + (compresses ? ["--deflate", "--gzip"] : []) + (Cores.pair.map { ["--core", String($0.server)] } ?? [])
        self.process = try ChildProcess(Programs.server, arguments)
        // One line, and then nothing more.
        let line = self.process.availableText()
        guard let port = UInt16(line.filter(\.isNumber)) else { throw WrongResultError("the server did not start") }
        self.port = port
    }

    deinit {
        if let path = self.certificatePath { try? FileManager.default.removeItem(atPath: path) }
    }
}

/// What a response of so many messages says.
struct ExpectedResponse {
    let messageCount: Int
    private(set) var textByteCount = 0
    private(set) var hash: UInt64 = 0

    init(messageCount: Int) {
        self.messageCount = messageCount
        var text = [CChar](repeating: 0, count: Int(CSS_TEXT_CAPACITY) + 1)
        for number in 0..<messageCount {
            let count = css_text(UInt64(number), &text)
            self.textByteCount += count
            self.hash = css_hash(self.hash, text, count)
        }
    }
}
