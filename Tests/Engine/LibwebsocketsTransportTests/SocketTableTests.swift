// The sockets of a service thread, by their tokens.

import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct SocketFailureTests {
    @Test(
        arguments: [
            (24, true, "127.0.0.1", TransportFailure.Cause.descriptorsExhausted(limit: DescriptorLimit.current)),
            (24, false, "127.0.0.1", .descriptorsExhausted(limit: DescriptorLimit.current)),
            (23, false, "127.0.0.1", .unavailable), (12, true, "127.0.0.1", .unavailable),
            (111, true, "127.0.0.1", .unreachable(code: 111)), (1, true, "127.0.0.1", .unreachable(code: 1)),
            (1, false, "127.0.0.1", .environmentUnusable(.socket)), (97, false, "::1", .unreachable(code: 97)),
            (97, false, "127.0.0.1", .environmentUnusable(.socket)),
        ] as [(CInt, Bool, String, TransportFailure.Cause)])
    func anErrorIsTheAddressesOrTheEnvironments(
        code: CInt, hasSocket: Bool, address: String, cause: TransportFailure.Cause
    ) {
        #expect(SocketFailure(code: code, address: address, hasSocket: hasSocket).cause == cause)
    }
}

@Suite struct SocketTableTests {
    private static func connection(_ service: Service) -> ServiceConnection {
        let request = TransportRequest(
            endpoint: TransportEndpoint(isSecure: false, host: "127.0.0.1", port: 1, target: "/"), exchange: .get)
        return ServiceConnection(
            plan: ConnectionPlan(
                id: ConnectionID(rawValue: 1), request: request, route: .success(Route()),
                arena: InboundArena(limits: request.limits), started: .now),
            service: service)
    }

    @Test func aTokenFindsItsOwnerUntilTheSocketIsGone() {
        let service = ServicePool().service(among: 1)
        let (first, second) = (Self.connection(service), Self.connection(service))
        var table = SocketTable()
        let token = table.insert(first)
        let other = table.insert(second)
        #expect(token != other)
        #expect(table.owner(of: token) === first)
        #expect(table.owner(of: other) === second)
        table.remove(token)
        #expect(table.owner(of: token) == nil)
        table.remove(token)
        // The place is taken again, and the earlier token is still invalid.
        let next = table.insert(second)
        #expect(next != token)
        #expect(table.owner(of: token) == nil)
        #expect(table.owner(of: next) === second)
        #expect(table.owner(of: SocketToken(rawValue: 0)) == nil)
        #expect(table.owner(of: SocketToken(rawValue: 1 << 32 | 77)) == nil)
        #expect([token, other, next].allSatisfy { $0.rawValue != 0 })
    }
}
