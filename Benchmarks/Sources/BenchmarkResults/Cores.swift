// The cores of servers and clients.
import CMachine

/// Two cores: one for the server, and one for the client, which is also for programs that need one only.
public enum Cores {
    /// The first and the last core, which the peers use too; nil when there is one core only.
    ///
    /// Neighbours may be halves of one core.
    public static let pair: (server: CInt, client: CInt)? = {
        let (first, last) = (cmachine_usable_core(0), cmachine_usable_core(-1))
        return first == last ? nil : (server: first, client: last)
    }()

    /// Keeps this process on its core; the threads that it starts later stay there too.
    ///
    /// Threads that exist already are moved too, because asynchronous code runs on them.
    public static func takeClientCore() {
        if let pair = Self.pair { cmachine_pin_process_to_core(pair.client) }
    }

    /// Starts a server in this process: the threads that it starts stay on the server's core.
    public static func onServerCore<Server>(_ start: () throws -> Server) rethrows -> Server {
        guard let pair = Self.pair else { return try start() }
        cmachine_pin_to_core(pair.server)
        defer { cmachine_pin_to_core(pair.client) }
        return try start()
    }
}
