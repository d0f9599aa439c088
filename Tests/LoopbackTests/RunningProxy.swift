import Dispatch
import Foundation
import StreamTransport
import Testing

/// tinyproxy, running on a port of loopback.
///
/// `Scripts/install.sh proxy` installs it.
final class RunningProxy: Sendable {
    /// It cannot be run.
    struct Failure: Error {
        let reason: String
    }

    let port: UInt16
    private let process: Process
    private let log: ProcessLog
    private let folder: URL

    /// Starts one; `settings` are further lines of its configuration.
    static func start(_ settings: [String] = []) async throws -> RunningProxy {
        // Another program may take the port before the proxy has it.
        for _ in 0..<10 {
            let proxy = try RunningProxy(port: try freePort(), settings: settings)
            if await proxy.log.hasLine(containing: "Accepting connections") { return proxy }
        }
        throw Failure(reason: "tinyproxy does not start")
    }

    private init(port: UInt16, settings: [String]) throws {
        self.port = port
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("proxy-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let file = self.folder.appendingPathComponent("tinyproxy.conf")
        let lines = ["Port \(port)", "Listen 127.0.0.1", "Timeout 60", "LogLevel Info"] + settings
        try (lines.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
        self.process = Process()
        self.process.executableURL = try Self.program()
        self.process.arguments = ["-d", "-c", file.path]
        let pipe = Pipe()
        self.process.standardOutput = pipe
        self.process.standardError = FileHandle.nullDevice
        self.log = ProcessLog(pipe.fileHandleForReading)
        try self.process.run()
        try? pipe.fileHandleForWriting.close()
    }

    private static func program() throws -> URL {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/bin:/usr/sbin"
        let paths = folders.split(separator: ":").map { "\($0)/tinyproxy" }
        guard let path = paths.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw Failure(reason: "tinyproxy is not installed: run Scripts/install.sh proxy")
        }
        return URL(fileURLWithPath: path)
    }

    private static func freePort() throws -> UInt16 { try RawServer().port }

    /// Ends it, and returns what it was asked for, such as `127.0.0.1:443`, one for each CONNECT.
    func stop() async -> [String] {
        self.kill()
        let lines = await self.log.lines()
        try? FileManager.default.removeItem(at: self.folder)
        return lines.compactMap { line in
            line.components(separatedBy: "): CONNECT ").dropFirst().first?.components(separatedBy: " ").first
        }
    }

    /// The proxy's URL.
    func url(_ userInformation: String = "") -> String {
        "http://\(userInformation.isEmpty ? "" : userInformation + "@")127.0.0.1:\(self.port)"
    }

    deinit {
        self.kill()
    }

    /// By SIGKILL: a process that was started on a queue's thread has every other signal blocked.
    private func kill() {
        if self.process.isRunning { Glibc.kill(self.process.processIdentifier, SIGKILL) }
    }
}

/// The lines that a program prints, read on a queue of its own.
private final class ProcessLog: Sendable {
    private let queue = DispatchQueue(label: "process log")
    private let handle: FileHandle
    private let text = LockedValue("")

    init(_ handle: FileHandle) {
        self.handle = handle
    }

    /// Reads until such a line is there; false when the program has ended without one.
    func hasLine(containing words: String) async -> Bool {
        await self.read { $0.contains(words) }
    }

    /// Every line, when the program has ended.
    func lines() async -> [String] {
        _ = await self.read { _ in false }
        return self.text.withLock { $0 }.split(separator: "\n").map(String.init)
    }

    private func read(until isEnough: @escaping @Sendable (String) -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            self.queue.async {
                while !self.text.withLock({ isEnough($0) }) {
                    let data = self.handle.availableData
                    guard !data.isEmpty else { return continuation.resume(returning: false) }
                    self.text.withLock { $0 += String(decoding: data, as: UTF8.self) }
                }
                continuation.resume(returning: true)
            }
        }
    }
}
