// Which cores servers and clients have.
import CMachine

/// Two cores: one for the server, one for the client, and for what needs one only.
public enum Cores {
    /// The first and the last, as programs beside this package have them: neighbours may be halves of one core.
    ///
    /// Nil when there is one only.
    public static let pair: (server: CInt, client: CInt)? = {
        let (first, last) = (cmachine_usable_core(0), cmachine_usable_core(-1))
        return first == last ? nil : (server: first, client: last)
    }()

    /// Keeps this process on its core; the threads that it starts later stay there too.
    ///
    /// Asynchronous code runs on threads that were there before it.
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
