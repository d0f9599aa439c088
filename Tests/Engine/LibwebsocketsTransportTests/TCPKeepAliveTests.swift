// TCP keepalive times, from ping times.

import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct TCPKeepAliveTests {
    private static func settings(ping: Duration?, pong: Duration) -> TCPKeepAlive? {
        var timeouts = TransportTimeouts()
        timeouts.pingInterval = ping
        timeouts.pongTimeout = pong
        return TCPKeepAlive(timeouts)
    }

    @Test(
        arguments: [
            (.seconds(20), .seconds(10), [20, 5, 30_000]), (.milliseconds(1_500), .milliseconds(300), [2, 1, 1_800]),
            (.zero, .zero, [1, 1, 1_000]), (.seconds(-5), .seconds(Int64.min), [1, 1, 1_000]),
            (.seconds(Int64.max), .seconds(Int64.max), [32_767, 16_384, 65_534_000]),
        ] as [(Duration, Duration, [Int32])])
    func pingTimesBecomeTCPKeepAliveTimes(ping: Duration, pong: Duration, values: [Int32]) {
        let settings = Self.settings(ping: ping, pong: pong)
        #expect(settings.map { [$0.idleSeconds, $0.probeSeconds, $0.silenceMilliseconds] } == values)
    }

    @Test func keepaliveIsOffWithoutPings() {
        #expect(Self.settings(ping: nil, pong: .seconds(10)) == nil)
    }
}
