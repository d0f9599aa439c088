// A process of the tests of the credentials' storage: it dies where it is told to, or is one of many that share a
// credential. What it does is said on the command line.
import Chappie
import ChappieSignIn
import Foundation
import Synchronization

/// Reads its arguments, does one thing, and prints what has become of it; the tests read the lines.
@main enum CredentialProbe {
    @MainActor static func main() async throws {
        let arguments = Arguments(CommandLine.arguments)
        let calls = FatalCalls(
            arguments["kill"], printsCalls: arguments.has("print-calls"),
            makesRoom: arguments.has("room-for-the-rest"))
        let storage = ChappieFileCredentialStorage(directory: arguments["directory"], calls: calls.calls)
        switch arguments.command {
        case "store": try await self.store(storage, arguments)
        // Without the lock, and by the first thread: what the script that counts the system's calls needs.
        case "write": try storage.store(self.credential(arguments), of: "default")
        case "hold": try await self.hold(storage)
        case "request": try await self.request(storage, arguments)
        case "trap", "throw": try await self.crash(storage, arguments)
        default: FileHandle.standardError.write(Data("store, write, hold, request, trap or throw\n".utf8))
        }
    }

    /// A credential that is longer than a page of memory.
    private static func credential(_ arguments: Arguments) -> ChappieStoredCredential {
        let text = arguments["text"] ?? "new"
        return ChappieStoredCredential(
            accessToken: String(repeating: text, count: 4_000), refreshToken: "refresh-\(text)", clientID: "client",
            issuer: "https://issuer.example", refreshedAt: Date(timeIntervalSince1970: 1_000))
    }

    /// Stores a credential.
    private static func store(_ storage: ChappieFileCredentialStorage, _ arguments: Arguments) async throws {
        // The file may become no longer than this; a write beyond it fails, and says so.
        if let limit = arguments["file-size"].flatMap({ rlim_t($0) }) {
            signal(SIGXFSZ, SIG_IGN)
            FileSize.limit(limit)
        }
        let credential = self.credential(arguments)
        do {
            try await storage.withLock(of: "default", timeout: .seconds(30)) {
                try storage.store(credential, of: "default")
            }
            self.say("stored")
        } catch {
            self.say("failed: \(error)")
        }
    }

    /// Holds the lock for as long as it lives.
    private static func hold(_ storage: ChappieFileCredentialStorage) async throws {
        try await storage.withLock(of: "default", timeout: .seconds(30)) {
            self.say("holding")
            try await Task.sleep(for: .seconds(3_600))
        }
    }

    /// Sends a request to a server with the stored credential, once it may.
    private static func request(_ storage: ChappieFileCredentialStorage, _ arguments: Arguments) async throws {
        guard let server = arguments["server"].flatMap({ URL(string: $0) }),
            let issuer = arguments["issuer"].flatMap({ URL(string: $0) })
        else { return self.say("failed: no server") }
        var configuration = ChappieConfiguration(model: "m", harness: .none)
        configuration.endpoint = .other(server)
        configuration.proxy = .none
        configuration.streamingTransportPolicy = .httpSSEOnly
        configuration.credentialStorage = storage
        configuration.signIn.server = .openAI(issuer: issuer)
        self.say("ready")
        // The others wait here as well, until the lock is released.
        if let gate = arguments["gate"] {
            let file = open(gate, O_RDONLY | O_CLOEXEC)
            flock(file, LOCK_SH)
        }
        do {
            _ = try await Chappie.client(configuration: configuration).send("hi")
            self.say("answered")
        } catch {
            self.say("failed: \(error)")
        }
    }

    /// Refreshes what is stored, and ends as a program does that has a mistake: with its tokens in memory.
    private static func crash(_ storage: ChappieFileCredentialStorage, _ arguments: Arguments) async throws {
        guard let issuer = arguments["issuer"].flatMap({ URL(string: $0) }) else {
            return self.say("failed: no server")
        }
        var configuration = ChappieConfiguration()
        configuration.proxy = .none
        configuration.credentialStorage = storage
        configuration.signIn.server = .openAI(issuer: issuer)
        let session = Chappie.authSession(configuration: configuration)
        let credential = try await session.credential(for: .connecting)
        do {
            try await session.refreshAuth()
        } catch {
            if arguments.command == "throw" { throw error }
            withExtendedLifetime((session, credential)) { preconditionFailure("stopped on purpose: \(error)") }
        }
    }

    private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}

/// The limit of a file's size.
private enum FileSize {
    static func limit(_ byteCount: rlim_t) {
        var value = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &value)
        value.rlim_cur = min(byteCount, value.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &value)
    }
}

/// The arguments of the command line: a command, and `--name value` or `--name`.
private struct Arguments {
    let command: String
    private let words: [String]

    init(_ words: [String]) {
        self.command = words.dropFirst().first ?? ""
        self.words = words
    }

    func has(_ name: String) -> Bool { self.words.contains("--\(name)") }

    subscript(name: String) -> String? {
        guard let index = self.words.firstIndex(of: "--\(name)"), index + 1 < self.words.count else { return nil }
        return self.words[index + 1]
    }
}

/// System calls of which one is the last: the process ends itself with SIGKILL, as if by another process.
private final class FatalCalls: Sendable {
    /// `before:N` or `after:N` of all calls from 1, or `before:NAME:N` of those with that name.
    private let place: (isBefore: Bool, name: String?, number: Int)?
    private let printsCalls: Bool
    /// Indicates whether a file may grow once bytes were written.
    private let makesRoom: Bool
    private let counts = Mutex<[String: Int]>([:])

    init(_ place: String?, printsCalls: Bool, makesRoom: Bool) {
        let parts = place?.split(separator: ":").map(String.init) ?? []
        self.place = parts.last.flatMap { Int($0) }.map { number in
            (parts[0] == "before", parts.count > 2 ? parts[1] : nil, number)
        }
        self.printsCalls = printsCalls
        self.makesRoom = makesRoom
    }

    var calls: FileSystemCalls {
        FileSystemCalls { call, body in
            let isLast = self.isLast(call)
            if isLast, self.place?.isBefore == true { kill(getpid(), SIGKILL) }
            let result = body()
            let code = errno
            if isLast { kill(getpid(), SIGKILL) }
            if self.makesRoom, call == .write { FileSize.limit(.max) }
            if self.printsCalls { FileHandle.standardOutput.write(Data("call \(call.rawValue)\n".utf8)) }
            errno = code
            return result
        }
    }

    private func isLast(_ call: FileSystemCalls.Call) -> Bool {
        let (all, own) = self.counts.withLock { counts in
            counts["", default: 0] += 1
            counts[call.rawValue, default: 0] += 1
            return (counts["", default: 0], counts[call.rawValue, default: 0])
        }
        guard let place = self.place else { return false }
        return place.name == nil ? place.number == all : place.name == call.rawValue && place.number == own
    }
}
