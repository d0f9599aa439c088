// The service of `chappie serve`: the test server, the fault proxy, or one in front of the other.
//
// Owned by the command, which stops it.
import ChappieTestServer

/// A running server.
struct ServeService {
    private let server: ChappieTestServer?
    private let proxy: FaultProxy?

    /// The address for clients.
    let baseURL: String

    /// Starts the service of the options; throws the errors of the server and the proxy.
    init(_ options: ServeOptions, logLine: (@Sendable (String) -> Void)?) throws {
        if let upstream = options.upstream {
            let proxy = try Self.proxy(upstream.endpoint, options, logLine)
            (self.server, self.proxy) = (nil, proxy)
            self.baseURL = proxy.baseURL(scheme: upstream.scheme, path: upstream.path)
            return
        }
        var configuration = options.configuration
        configuration.logLine = logLine
        if options.plan != nil { configuration.port = 0 }
        let server = try ChappieTestServer(configuration: configuration)
        self.server = server
        guard options.plan != nil else {
            self.proxy = nil
            self.baseURL = server.baseURL
            return
        }
        let proxy = try Self.proxy(.init(host: "127.0.0.1", port: server.port), options, logLine)
        self.proxy = proxy
        self.baseURL = proxy.baseURL(scheme: configuration.tls == nil ? "http" : "https")
    }

    private static func proxy(
        _ upstream: FaultProxy.Endpoint, _ options: ServeOptions, _ logLine: (@Sendable (String) -> Void)?
    ) throws -> FaultProxy {
        var configuration = FaultProxy.Configuration(upstream: upstream, plan: options.plan ?? .init())
        configuration.port = options.configuration.port
        configuration.logLine = logLine
        return try FaultProxy(configuration: configuration)
    }

    /// The CA of the server's certificate; nil without one.
    var caPEM: String? { self.server?.caPEM }

    /// Stops all servers, and returns when they have ended.
    func stop() {
        self.proxy?.stop()
        self.server?.stop()
    }
}
