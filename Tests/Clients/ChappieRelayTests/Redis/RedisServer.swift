import ChappieRelay
import Foundation
import PlatformC
import Synchronization

/// A server of Redis for tests, on a port of 127.0.0.1 and with a folder of its own; it ends with the process at the
/// latest.
final class RedisServer: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// A process, the pipe whose end ends it, and the one with its log.
    private struct Running {
        let process: pid_t
        let input: CInt
        let output: CInt
    }

    /// A descriptor that is made while a process is started would be that process's too.
    private static let starting = Mutex(())
    // Debian's package `redis-server` has a link to a program of `redis-tools`, which does what its name says. That
    // package starts no service when it is installed.
    private static let programs = ["/usr/bin/redis-server", "/usr/bin/redis-check-rdb"]
    private static let installed = programs.first { FileManager.default.isExecutableFile(atPath: $0) }
    static var isInstalled: Bool { self.installed != nil }
    /// One that the tests share, each with a prefix of its own.
    static let shared = Result { try RedisServer() }

    let port: UInt16
    let folder: URL
    private let arguments: [String]
    private let running = Mutex<Running?>(nil)

    /// Starts a Sentinel.
    init(sentinel file: URL, port: UInt16, folder: URL) throws {
        self.arguments = [try Self.program(in: folder), file.path, "--sentinel", "--port", String(port)]
        self.folder = folder
        self.port = port
        try self.start(until: "+monitor")
    }

    /// Starts a server; returns when it accepts connections.
    init(options: [String] = [], folder: URL? = nil) throws {
        self.folder = try folder ?? Self.makeFolder()
        self.port = try Self.freePort()
        self.arguments =
            [
                try Self.program(in: self.folder), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
                self.folder.path,
                "--enable-debug-command", "yes",
            ] + (options.contains("--port") ? [] : ["--port", String(self.port)]) + options
        try self.start()
    }

    deinit {
        self.stop()
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// Returns a path of the program with the name of the server.
    private static func program(in folder: URL) throws -> String {
        guard let installed = Self.installed else { throw Failure(description: "there is no redis-server") }
        guard !installed.hasSuffix("redis-server") else { return installed }
        let link = folder.appendingPathComponent("redis-server").path
        if !FileManager.default.fileExists(atPath: link) {
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: installed)
        }
        return link
    }

    static func makeFolder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("redis-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    var url: String { "redis://127.0.0.1:\(self.port)" }

    /// Starts the server again after `stop()`, with what it has saved.
    func start(until mark: String = "Ready to accept connections") throws {
        // The shell ends the server when this process ends, however that happens, because the pipe ends with it.
        // Threads of libdispatch have most signals blocked, and so have the processes that they start.
        let script =
            "\"$@\" </dev/null & server=$!; cat >/dev/null; kill -9 $server; wait $server; rmdir \"$0\" 2>/dev/null"
        let running = try Self.spawn(["/bin/sh", "-c", script, self.folder.path] + self.arguments)
        self.running.withLock { $0 = running }
        var log = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !log.contains(mark) {
            let count = read(running.output, &buffer, buffer.count)
            log += String(decoding: buffer[..<max(0, count)], as: UTF8.self)
            guard count > 0, !log.contains("Failed"), !log.contains("FATAL") else {
                self.stop()
                throw Failure(description: "redis-server does not start: \(log.suffix(500))")
            }
        }
    }

    private static func spawn(_ arguments: [String]) throws -> Running {
        try self.starting.withLock { _ in
            var (input, output): ([CInt], [CInt]) = ([-1, -1], [-1, -1])
            guard pipe(&input) == 0, pipe(&output) == 0 else { throw Failure(description: "no pipe") }
            for end in input + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_adddup2(&actions, input[0], 0)
            posix_spawn_file_actions_adddup2(&actions, output[1], 1)
            posix_spawn_file_actions_adddup2(&actions, output[1], 2)
            var words = arguments.map { strdup($0) } + [nil]
            defer { for word in words { free(word) } }
            var process = pid_t()
            let code = posix_spawn(&process, arguments[0], &actions, nil, &words, environ)
            close(input[0])
            close(output[1])
            guard code == 0 else { throw Failure(description: "cannot start \(arguments[0])") }
            return Running(process: process, input: input[1], output: output[0])
        }
    }

    /// Ends it, and waits for that.
    func stop() {
        guard let running = self.running.withLock({ $0.take() }) else { return }
        close(running.input)
        var status: CInt = 0
        while waitpid(running.process, &status, 0) < 0, errno == EINTR {}
        close(running.output)
    }

    /// Sends a command over a connection of its own and returns the answer.
    @discardableResult
    func command(_ arguments: String...) throws -> RESPValue { try self.run(arguments) }

    /// Sends a command behind a login.
    func run(_ arguments: [String], login: [String] = []) throws -> RESPValue {
        let descriptor = try Self.connect(to: self.port)
        defer { close(descriptor) }
        var parser = RESPParser()
        var value = RESPValue.null
        for arguments in [login, arguments] where !arguments.isEmpty {
            let bytes = RESPCommand(arguments, []).bytes
            guard send(descriptor, bytes, bytes.count, SystemSocket.sendingFlags) == bytes.count else {
                throw Failure(description: "cannot send")
            }
            value = try Self.value(from: descriptor, &parser)
        }
        return value
    }

    private static func value(from descriptor: CInt, _ parser: inout RESPParser) throws -> RESPValue {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            if let value = try parser.next() { return value }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw Failure(description: "the server has closed the connection") }
            parser.append(buffer[..<count])
        }
    }

    /// Sends a command and runs a closure while the server works on it, or before.
    func during<Value>(_ arguments: String..., body: () async throws -> Value) async throws -> Value {
        let descriptor = try Self.connect(to: self.port)
        defer { close(descriptor) }
        let bytes = RESPCommand(arguments, []).bytes
        guard send(descriptor, bytes, bytes.count, SystemSocket.sendingFlags) == bytes.count else {
            throw Failure(description: "cannot send")
        }
        return try await body()
    }

    // MARK: Time

    /// Lets leases and retentions pass: all times in the streams of a prefix are moved into the past.
    func pass(_ duration: Duration, prefix: String) throws {
        let answer = try self.command(
            "EVAL",
            """
            for _, key in ipairs(redis.call('KEYS', ARGV[2] .. ':*')) do
              local type = redis.call('TYPE', key).ok
              if type == 'hash' then
                for _, field in ipairs({ 'lease', 'changed', 'reader' }) do
                  local time = redis.call('HGET', key, field)
                  if time then redis.call('HSET', key, field, time - ARGV[1]) end
                end
              end
              if type == 'zset' then
                for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
                  redis.call('ZINCRBY', key, -ARGV[1], member)
                end
              end
              local rest = redis.call('PTTL', key)
              if rest >= 0 then redis.call('PEXPIRE', key, rest - ARGV[1]) end
            end
            return 1
            """, "0", String(Int(duration / .milliseconds(1))), prefix)
        guard answer == .integer(1) else { throw Failure(description: "\(answer)") }
    }

    // MARK: Ports

    static func freePort() throws -> UInt16 {
        let descriptor = SystemSocket.open(family: AF_INET)
        defer { close(descriptor) }
        return try self.freePort(boundTo: descriptor)
    }

    /// Binds a socket to a free port.
    static func freePort(boundTo descriptor: CInt) throws -> UInt16 {
        var address = Self.address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw Failure(description: "no free port") }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func connect(to port: UInt16) throws -> CInt {
        let descriptor = SystemSocket.open(family: AF_INET)
        var address = Self.address(port: port)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                PlatformC.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            close(descriptor)
            throw Failure(description: "cannot connect")
        }
        return descriptor
    }

    private static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }
}

extension JournalSubject {
    static let redis = JournalSubject(testDescription: "Redis") {
        let server = try RedisServer.shared.get()
        var configuration = ChappieRedisJournal.Configuration()
        configuration.keyPrefix = "test-\(UUID().uuidString)"
        // A machine that is busy with other tests may be slow.
        configuration.commandTimeout = .seconds(60)
        let prefix = configuration.keyPrefix
        return (
            try ChappieRedisJournal(url: server.url, configuration: configuration),
            { try server.pass($0, prefix: prefix) }
        )
    }
}
