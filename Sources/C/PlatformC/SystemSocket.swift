// The system calls and constants of sockets that have another form on every system.
//
// Without state.

/// Sockets as each system has them.
package enum SystemSocket {
    /// The type of stream sockets, as `getaddrinfo` takes it.
    package static var streamType: CInt {
        #if canImport(Darwin)
            SOCK_STREAM
        #else
            CInt(SOCK_STREAM.rawValue)
        #endif
    }

    /// The flags of `send` with which a peer that has gone raises no signal.
    package static var sendingFlags: CInt {
        #if canImport(Darwin)
            // `raiseNoSignal` has done it.
            0
        #else
            CInt(MSG_NOSIGNAL)
        #endif
    }

    /// The event of `poll` that tells that a peer sends no more; 0 where it is told without being asked for.
    package static var peerHangUp: Int16 {
        #if canImport(Darwin)
            0
        #else
            // `POLLRDHUP`, which the C library shows only to GNU sources.
            0x2000
        #endif
    }

    /// Opens a stream socket that child processes do not inherit; negative when there is none, and `errno` tells why.
    package static func open(family: CInt) -> CInt {
        #if canImport(Darwin)
            let descriptor = socket(family, SOCK_STREAM, 0)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            return descriptor
        #else
            return socket(family, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        #endif
    }

    /// Prevents the signal of a peer that has gone, where `sendingFlags` cannot.
    package static func raiseNoSignal(_ descriptor: CInt) {
        #if canImport(Darwin)
            var isOn: CInt = 1
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<CInt>.size))
        #endif
    }
}
