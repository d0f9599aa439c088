import Foundation

/// A SOCKS 5 proxy, running on a port of loopback.
///
/// `Scripts/install.sh test` installs both kinds.
final class RunningSOCKSProxy: Sendable {
    /// A proxy's program, and what it asks of its clients.
    enum Kind: Sendable {
        /// Dante, without a login; it opens no connections to `blocked`.
        case dante(blocked: Int? = nil)
        /// microsocks, with a login.
        case microsocks(userName: String, password: String)
    }

    let port: UInt16
    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// Starts one.
    static func start(_ kind: Kind = .dante()) async throws -> RunningSOCKSProxy {
        try await InstalledProgram.start("the SOCKS proxy") { port in
            let proxy = try RunningSOCKSProxy(kind, port: port)
            return await proxy.isReady(kind) ? proxy : nil
        }
    }

    private init(_ kind: Kind, port: UInt16) throws {
        self.port = port
        self.directory = try TemporaryDirectory()
        switch kind {
        case .dante(let blocked):
            let lines = [
                "logoutput: stdout", "internal: 127.0.0.1 port = \(port)", "external: lo", "clientmethod: none",
                "socksmethod: none", "client pass {\n from: 127.0.0.0/8 to: 0.0.0.0/0\n}",
                blocked.map { "socks block {\n from: 0.0.0.0/0 to: 0.0.0.0/0 port = \($0)\n log: connect error\n}" }
                    ?? "",
                "socks pass {\n from: 0.0.0.0/0 to: 0.0.0.0/0\n command: connect\n log: connect\n}",
            ]
            let file = try self.directory.write(lines.joined(separator: "\n") + "\n", to: "danted.conf")
            self.process = try ChildProcess(
                try InstalledProgram.path(of: "danted"), ["-p", self.directory.path(of: "pid"), "-f", file])
        case .microsocks(let userName, let password):
            // It speaks on standard error alone.
            let path = try InstalledProgram.path(of: "microsocks")
            self.process = try ChildProcess(
                "/bin/sh",
                ["-c", "exec \"$0\" \"$@\" 2>&1", path, "-i", "127.0.0.1", "-p", "\(port)"]
                    + ["-u", userName, "-P", password])
        }
    }

    private func isReady(_ kind: Kind) async -> Bool {
        switch kind {
        case .dante: return await self.process.hasLine(containing: " running")
        case .microsocks:
            // It does not say that it listens. Each round goes through a service thread and back.
            for _ in 0..<2_000 {
                if RawServer.connectAndClose(to: self.port) { return true }
                try? await RawServer.fence()
            }
            return false
        }
    }

    /// Ends it, and returns the servers that it has connected to, such as `127.0.0.1:443`, one for each connection.
    func stop() async -> [String] {
        await self.process.lines().compactMap { line in
            if let end = line.components(separatedBy: ": connected to ").dropFirst().first { return end }
            // Dante: `pass(1): tcp/connect [: CLIENT PROXY -> PROXY SERVER`, with a full stop before each port.
            guard line.contains("tcp/connect [:"), let server = line.split(separator: " ").last,
                let stop = server.lastIndex(of: ".")
            else { return nil }
            return "\(server[..<stop]):\(server[stop...].dropFirst())"
        }
    }

    /// The proxy's URL.
    func url(_ userInformation: String = "", scheme: String = "socks5h") -> String {
        "\(scheme)://\(userInformation.isEmpty ? "" : userInformation + "@")127.0.0.1:\(self.port)"
    }
}
