// The faults of the proxies that some streams go through.
import ChappieTestServer

extension FaultProxy.Plan {
    /// Draws a fault for each of the first one to three connections of a stream of about `byteCount` bytes.
    ///
    /// Later connections are only relayed. `hasPings` tells whether the client detects that the peer is gone.
    static func drawn(seed: UInt64, byteCount: Int, hasPings: Bool) -> Self {
        var random = SoakRandom(seed: seed)
        return Self(
            (1...random.number(in: 1...3)).map { connection in
                FaultProxy.Fault(
                    Self.action(&random, of: connection, byteCount, hasPings: hasPings),
                    connections: connection...connection)
            })
    }

    private static func action(
        _ random: inout SoakRandom, of connection: Int, _ byteCount: Int, hasPings: Bool
    ) -> ConnectionFault {
        // Mostly behind the handshakes, and in those of one connection at most: two broken ones in a row end a turn.
        let isEarly = random.chance(20) && connection == 1
        let offset = random.number(in: isEarly ? 0...2_000 : 2_000...2_000 + byteCount)
        switch random.number(in: 0...6) {
        case 0: return .cut(atByte: offset)
        case 1: return .cut(atByte: offset, with: .reset)
        case 2: return .stall(atByte: offset, for: .milliseconds(random.number(in: 1...1_500)))
        case 3: return .slice(byteCount: random.number(in: 1...100), fromByte: offset)
        case 4: return .throttle(bytesPerSecond: 400_000, fromByte: offset)
        // Only a WebSocket's pings detect that the peer is gone.
        case 5 where hasPings: return .halfOpen(atByte: max(4_000, offset))
        default: return .delay(.milliseconds(random.number(in: 1...300)))
        }
    }
}
