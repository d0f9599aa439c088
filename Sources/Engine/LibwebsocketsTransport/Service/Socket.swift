import CLibwebsocketsShim
import PlatformC

/// Identifies a socket among those of its service thread, for the life of the process; never 0.
struct SocketToken: Hashable {
    let rawValue: UInt64
}

/// The events that are awaited on a socket, or reported for it.
struct Readiness: OptionSet {
    let rawValue: CUnsignedInt

    static let readable = Self(rawValue: CUnsignedInt(CLWS_READABLE))
    static let writable = Self(rawValue: CUnsignedInt(CLWS_WRITABLE))
}

/// A TCP socket in a service thread's set.
///
/// It belongs to the service thread.
struct Socket {
    let descriptor: CInt
    let token: SocketToken
    /// The events that the set reports for it.
    fileprivate(set) var interest: Readiness = []
}

/// The sockets of a service thread, and the exchange that each belongs to.
///
/// It belongs to the service thread.
struct SocketTable {
    private struct Place {
        /// The number that distinguishes the socket from earlier ones in the same place.
        var generation: UInt32
        var owner: ServiceConnection?
    }

    private var places: [Place] = []
    private var free: [Int] = []

    /// Returns the exchange of a socket; nil when the socket is closed.
    func owner(of token: SocketToken) -> ServiceConnection? {
        let index = Int(token.rawValue & UInt64(UInt32.max))
        guard index < self.places.count, self.places[index].generation == UInt32(token.rawValue >> 32) else {
            return nil
        }
        return self.places[index].owner
    }

    /// Assigns a place.
    mutating func insert(_ owner: ServiceConnection) -> SocketToken {
        let index = self.free.popLast() ?? self.places.count
        if index == self.places.count { self.places.append(Place(generation: 0)) }
        self.places[index].owner = owner
        self.places[index].generation &+= 1
        // No token is 0.
        if self.places[index].generation == 0 { self.places[index].generation = 1 }
        return SocketToken(rawValue: UInt64(self.places[index].generation) << 32 | UInt64(index))
    }

    /// Frees a place.
    mutating func remove(_ token: SocketToken) {
        guard self.owner(of: token) != nil else { return }
        let index = Int(token.rawValue & UInt64(UInt32.max))
        self.places[index].owner = nil
        self.free.append(index)
    }
}

extension Service {
    /// Starts a TCP connection for an exchange, which is told when the attempt has succeeded or failed.
    func open(for connection: ServiceConnection, to address: String, port: UInt16) throws(SocketFailure) -> Socket {
        var hasSocket = false
        let descriptor = clws_socket_connect(address, port, &hasSocket)
        guard descriptor >= 0 else { throw SocketFailure(code: -descriptor, address: address, hasSocket: hasSocket) }
        if DescriptorLimit.exhausted(wanting: DescriptorLimit.reserve) != nil {
            clws_socket_close(descriptor, true)
            throw SocketFailure(code: EMFILE, address: address, hasSocket: false)
        }
        var socket = Socket(descriptor: descriptor, token: self.sockets.insert(connection))
        guard self.await(.writable, of: &socket) else {
            self.close(socket)
            throw SocketFailure(code: ENOMEM, address: address, hasSocket: true)
        }
        return socket
    }

    /// Changes the events that are awaited on a socket; returns false when the system has no memory for it.
    @discardableResult
    func await(_ interest: Readiness, of socket: inout Socket) -> Bool {
        guard interest != socket.interest else { return true }
        guard let pointer = self.pointer,
            clws_service_watch(
                pointer, socket.descriptor, socket.token.rawValue, socket.interest.rawValue, interest.rawValue)
        else { return false }
        socket.interest = interest
        return true
    }

    /// Closes a socket and invalidates its token.
    ///
    /// `isAbrupt` drops unsent bytes, and resets the connection.
    func close(_ socket: Socket, isAbrupt: Bool = false) {
        var socket = socket
        self.await([], of: &socket)
        self.sockets.remove(socket.token)
        clws_socket_close(socket.descriptor, isAbrupt)
    }
}
