import Foundation
import Testing

/// tinyproxy, running on a port of loopback.
///
/// `Scripts/install.sh test` installs it.
final class RunningProxy: Sendable {
    let port: UInt16
    private let process: ChildProcess
    private let folder: URL

    /// Starts one; `settings` are further lines of its configuration.
    static func start(_ settings: [String] = []) async throws -> RunningProxy {
        try await InstalledProgram.start("tinyproxy") { port in
            let proxy = try RunningProxy(port: port, settings: settings)
            return await proxy.process.hasLine(containing: "Accepting connections") ? proxy : nil
        }
    }

    private init(port: UInt16, settings: [String]) throws {
        self.port = port
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("proxy-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let file = self.folder.appendingPathComponent("tinyproxy.conf")
        let lines = ["Port \(port)", "Listen 127.0.0.1", "Timeout 60", "LogLevel Info"] + settings
        try (lines.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
        self.process = try ChildProcess(try InstalledProgram.path(of: "tinyproxy"), ["-d", "-c", file.path])
    }

    deinit {
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// The status code with which the installed tinyproxy answers a wrong credential: 407 (RFC 9110 section 15.5.8)
    /// from
    /// 1.11.3 on, 401 before.
    static func statusCodeOfWrongCredential() async throws -> Int {
        let program = try InstalledProgram.path(of: "tinyproxy")
        let answer = try await ChildProcess.run(program, ["-v"], input: "", environment: [:])
        let words = String(decoding: answer.output, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        let version = try #require(words.first { $0.first?.isNumber == true }, "tinyproxy -v gave no version")
        return String(version).compare("1.11.3", options: .numeric) == .orderedAscending ? 401 : 407
    }

    /// Ends it, and returns what it was asked for, such as `127.0.0.1:443`, one for each CONNECT.
    func stop() async -> [String] {
        await self.process.lines().compactMap { line in
            line.components(separatedBy: "): CONNECT ").dropFirst().first?.components(separatedBy: " ").first
        }
    }

    /// The proxy's URL.
    func url(_ userInformation: String = "") -> String {
        "http://\(userInformation.isEmpty ? "" : userInformation + "@")127.0.0.1:\(self.port)"
    }
}
