import Foundation

/// Programs of other people's that `Scripts/install.sh test` installs.
enum InstalledProgram {
    /// It cannot be found, or does not start.
    struct Failure: Error {
        let reason: String
    }

    /// The path of a program; system programs are found whatever `PATH` is.
    static func path(of name: String) throws -> String {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/bin:/usr/sbin"
        let paths = folders.split(separator: ":").map { "\($0)/\(name)" }
        guard let path = paths.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw Failure(reason: "\(name) is not installed: run Scripts/install.sh test")
        }
        return path
    }

    /// Starts a server on a free port, again if another program takes that first.
    static func start<Server>(_ name: String, _ make: (UInt16) async throws -> Server?) async throws -> Server {
        for _ in 0..<10 {
            if let server = try await make(RawServer().port) { return server }
        }
        throw Failure(reason: "\(name) does not start")
    }
}
