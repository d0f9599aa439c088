import Foundation

/// A SOCKS 5 proxy, microsocks, running on a port of loopback.
///
/// `Scripts/install.sh test` installs it.
final class RunningSOCKSProxy: Sendable {
    /// A user name and a password.
    struct Login: Sendable {
        let userName: String
        let password: String
    }

    let port: UInt16
    private let process: ChildProcess

    /// Starts a proxy that asks its clients for a login, or for none.
    static func start(_ login: Login? = nil) async throws -> RunningSOCKSProxy {
        try await InstalledProgram.start("the SOCKS proxy") { port in
            let proxy = try RunningSOCKSProxy(login, port: port)
            return await proxy.isReady() ? proxy : nil
        }
    }

    private init(_ login: Login?, port: UInt16) throws {
        self.port = port
        // It speaks on standard error alone.
        let path = try InstalledProgram.path(of: "microsocks")
        self.process = try ChildProcess(
            "/bin/sh",
            ["-c", "exec \"$0\" \"$@\" 2>&1", path, "-i", "127.0.0.1", "-p", "\(port)"]
                + (login.map { ["-u", $0.userName, "-P", $0.password] } ?? []))
    }

    private func isReady() async -> Bool {
        // It does not say that it listens. Each round goes through a service thread and back.
        for _ in 0..<2_000 {
            if RawServer.connectAndClose(to: self.port) { return true }
            try? await RawServer.fence()
        }
        return false
    }

    /// Ends it, and returns the servers that it has connected to, such as `127.0.0.1:443`, one for each connection.
    func stop() async -> [String] {
        await self.process.lines().compactMap { line in
            line.components(separatedBy: ": connected to ").dropFirst().first
        }
    }

    /// The proxy's URL.
    func url(_ userInformation: String = "", scheme: String = "socks5h") -> String {
        "\(scheme)://\(userInformation.isEmpty ? "" : userInformation + "@")127.0.0.1:\(self.port)"
    }
}
