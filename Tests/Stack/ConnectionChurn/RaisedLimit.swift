import Foundation

/// A process that raises its descriptor limit when the service runs already, and uses what it has gained.
enum RaisedLimit {
    private static let first = 40

    /// Returns whether it goes as it should.
    static func run() async throws -> Bool {
        let servers = try ChurnServers()
        let places = ChurnPlaces(servers: servers, hole: try SilentPort(), threadCount: 1)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
        let hard = limit.rlim_max
        guard Self.setLimit(rlim_t(Self.first), of: hard), await ChurnStage.whole.run(in: places) == nil,
            Self.setLimit(hard, of: hard)
        else { return false }
        // Every socket has a number above the first limit now.
        let descriptors = (0..<Self.first).map { _ in open("/dev/null", O_RDONLY) }
        defer { for descriptor in descriptors { close(descriptor) } }
        return await ChurnStage.whole.run(in: places) == nil
    }

    private static func setLimit(_ soft: rlim_t, of hard: rlim_t) -> Bool {
        var limit = rlimit(rlim_cur: soft, rlim_max: hard)
        return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    }
}
