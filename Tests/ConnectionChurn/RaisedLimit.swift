import Foundation
import LibwebsocketsTransport
import StreamTransport

/// A process that raises its descriptor limit when the service runs already: libwebsockets' tables do not grow with it.
enum RaisedLimit {
    private static let first = 40

    /// Whether it goes as it should.
    static func run() async throws -> Bool {
        let servers = try ChurnServers()
        let places = ChurnPlaces(servers: servers, hole: try SilentPort(), threadCount: 1)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
        let hard = limit.rlim_max
        guard Self.setLimit(rlim_t(Self.first), of: hard), await ChurnStage.whole.run(in: places) == nil,
            Self.setLimit(hard, of: hard)
        else { return false }
        let descriptors = (0..<Self.first).map { _ in open("/dev/null", O_RDONLY) }
        let isRefused = await Self.isRefused(places)
        for descriptor in descriptors { close(descriptor) }
        let isBack = await ChurnStage.whole.run(in: places) == nil
        return isRefused && isBack
    }

    private static func setLimit(_ soft: rlim_t, of hard: rlim_t) -> Bool {
        var limit = rlimit(rlim_cur: soft, rlim_max: hard)
        return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    }

    private static func isRefused(_ places: ChurnPlaces) async -> Bool {
        let connection = places.transport.connect(TransportRequest(endpoint: places.plain, exchange: .get))
        guard case .ended(.failed(let failure))? = await connection.event() else { return false }
        return failure
            == TransportFailure(phase: .connect, cause: .descriptorsExhausted(limit: Self.first))
    }
}
