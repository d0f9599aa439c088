import Foundation
import Testing

/// stunnel in front of a proxy: TLS on the client's side only.
///
/// `Scripts/install.sh test` installs it.
final class RunningTLSFront: Sendable {
    let port: UInt16
    /// Its certificate, which is signed by itself.
    let certificatePEM: String
    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// Starts one whose certificate has these subject alternative names.
    static func start(
        to target: UInt16, names: String = "IP:127.0.0.1,DNS:localhost", settings: [String] = []
    ) async throws -> RunningTLSFront {
        let directory = try TemporaryDirectory()
        let made = try await run(
            try InstalledProgram.path(of: "openssl"),
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
                + ["-subj", "/CN=proxy", "-addext", "subjectAltName=\(names)"]
                + ["-keyout", directory.path(of: "key.pem"), "-out", directory.path(of: "certificate.pem")])
        try #require(made.status == 0)
        return try await InstalledProgram.start("stunnel") { port in
            let front = try RunningTLSFront(port: port, target: target, directory, settings)
            return await front.process.hasLine(containing: " bound to 127.0.0.1:\(port)") ? front : nil
        }
    }

    private init(port: UInt16, target: UInt16, _ directory: TemporaryDirectory, _ settings: [String]) throws {
        self.port = port
        self.directory = directory
        self.certificatePEM = try String(contentsOfFile: directory.path(of: "certificate.pem"), encoding: .utf8)
        let lines =
            ["foreground = yes", "debug = info", "pid =", "syslog = no", "[proxy]", "accept = 127.0.0.1:\(port)"]
            + ["connect = 127.0.0.1:\(target)", "TIMEOUTclose = 0"]
            + ["cert = \(directory.path(of: "certificate.pem"))", "key = \(directory.path(of: "key.pem"))"] + settings
        let file = try directory.write(lines.joined(separator: "\n") + "\n", to: "stunnel.conf")
        // It speaks on standard error alone.
        self.process = try ChildProcess(
            "/bin/sh", ["-c", "exec \"$0\" \"$@\" 2>&1", try InstalledProgram.path(of: "stunnel"), file])
    }

    /// The path of its certificate's file, with which it also knows clients when `settings` say so.
    var certificatePath: String { self.directory.path(of: "certificate.pem") }
    /// The path of its key's file.
    var keyPath: String { self.directory.path(of: "key.pem") }

    /// The proxy's URL.
    func url(_ userInformation: String = "", host: String = "127.0.0.1") -> String {
        "https://\(userInformation.isEmpty ? "" : userInformation + "@")\(host):\(self.port)"
    }
}
