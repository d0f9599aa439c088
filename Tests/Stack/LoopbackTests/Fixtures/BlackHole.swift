import Foundation

/// A port to which a connection is never established: its one place is taken, and the system answers no other.
final class BlackHole: Sendable {
    private let server: RawServer
    private let filler: CInt
    let address: LoopbackAddress
    var port: UInt16 { self.server.port }

    /// Port 0 is any port that is free.
    init(_ address: LoopbackAddress, port: UInt16 = 0) throws {
        self.address = address
        self.server = try RawServer(address: address, port: port, backlog: 0)
        self.filler = socket(address.family, CInt(SOCK_STREAM.rawValue), 0)
        let filler = self.filler
        let isFilled = address.withSocketAddress(port: self.server.port) { connect(filler, $0, $1) == 0 }
        guard isFilled else { throw RawServer.Failure(call: "connect", code: errno) }
    }

    deinit {
        close(self.filler)
    }

    /// The number of sockets of this machine that are trying to connect to it at this moment.
    var waitingCount: Int {
        let file = FileHandle(forReadingAtPath: self.address == .version6 ? "/proc/net/tcp6" : "/proc/net/tcp")
        let table = String(decoding: (try? file?.readToEnd()) ?? Data(), as: UTF8.self)
        let port = String(format: ":%04X", self.port)
        return table.split(separator: "\n").count { line in
            let columns = line.split(separator: " ")
            // proc(5): the remote address and the state, of which 2 is SYN-SENT.
            return columns.count > 3 && columns[2].hasSuffix(port) && columns[2].hasPrefix(self.hexadecimal)
                && columns[3] == "02"
        }
    }

    private var hexadecimal: String {
        switch self.address {
        case .first: "0100007F"
        case .second: "0200007F"
        case .third: "0300007F"
        case .version6: "00000000000000000000000001000000"
        }
    }
}
