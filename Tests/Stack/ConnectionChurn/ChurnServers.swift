import ChappieTestServer
import Foundation

/// The servers, in a process of their own, so that what they hold is not counted.
final class ChurnServers: Sendable {
    let plain: URL
    let secure: URL
    /// A file with the authority of the secure one.
    let authority: String
    private let process: Process
    private let input: Pipe

    /// Starts them; they end with this process.
    init() throws {
        let process = Process()
        let output = Pipe()
        self.input = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["serve"]
        process.standardInput = self.input
        process.standardOutput = output
        try process.run()
        self.process = process
        var lines: [String] = []
        var text = ""
        while lines.count < 3 {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
            lines = text.split(separator: "\n").map(String.init)
        }
        guard let plain = URL(string: lines[0]), let secure = URL(string: lines[1]) else {
            throw CocoaError(.fileReadCorruptFile)
        }
        self.plain = plain
        self.secure = secure
        self.authority = lines[2]
    }

    deinit {
        self.process.terminate()
    }

    /// Serves in the process of the servers until its input ends.
    static func serve() throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.maximumRecordCount = 1
        // Slow enough for every response to be in its middle when the client goes.
        configuration.eventsPerSecond = 200
        let plain = try ChappieTestServer(configuration: configuration)
        configuration.tls = .init(certificate: .valid)
        let secure = try ChappieTestServer(configuration: configuration)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("churn-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try (secure.caPEM ?? "").write(to: file, atomically: true, encoding: .utf8)
        FileHandle.standardOutput.write(Data("\(plain.baseURL)\n\(secure.baseURL)\n\(file.path)\n".utf8))
        _ = try FileHandle.standardInput.readToEnd()
        plain.stop()
        secure.stop()
    }
}

/// A port to which a connection is never established: its one place is taken, and the system answers no other.
final class SilentPort: Sendable {
    let port: UInt16
    private let descriptors: [CInt]

    /// Any port that is free, of 127.0.0.2.
    init() throws {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        let filler = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0002).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isFull = withUnsafeMutableBytes(of: &address) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(listener, pointer, length) == 0 && listen(listener, 0) == 0
                && getsockname(listener, pointer, &length) == 0 && connect(filler, pointer, length) == 0
        }
        guard isFull else { throw CocoaError(.fileReadUnknown) }
        self.port = UInt16(bigEndian: address.sin_port)
        self.descriptors = [listener, filler]
    }

    deinit {
        for descriptor in self.descriptors { close(descriptor) }
    }
}
