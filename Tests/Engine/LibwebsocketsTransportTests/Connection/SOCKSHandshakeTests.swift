// The conversation with a SOCKS 5 proxy, byte for byte (RFC 1928, RFC 1929).
import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct SOCKSHandshakeTests {
    private static let credential = ProxyServer.Credential(userName: Array("us:er".utf8), password: Array("pä".utf8))

    private static func handshake(
        host: String = "origin.example", port: UInt16 = 443, credential: ProxyServer.Credential? = nil
    ) -> SOCKSHandshake {
        SOCKSHandshake(
            for: TransportEndpoint(isSecure: true, host: host, port: port, target: "/"), credential: credential)
    }

    /// Feeds whole pieces, and takes what has to go out after each.
    private static func exchange(
        _ handshake: SOCKSHandshake, _ pieces: [[UInt8]]
    ) -> (sent: [[UInt8]], answer: ProxyGreeting.Outcome, leftByteCount: Int) {
        var handshake = handshake
        var sent = [handshake.takeBytesToSend()]
        for (index, piece) in pieces.enumerated() {
            var position = 0
            let outcome = piece.withUnsafeBytes { handshake.receive($0, at: &position) }
            sent.append(handshake.takeBytesToSend())
            guard outcome == .incomplete else {
                let left = pieces[(index + 1)...].joined().count
                return (sent, outcome, left + piece.count - position)
            }
        }
        return (sent, .incomplete, 0)
    }

    // MARK: The questions

    @Test func withoutALoginOneMethodIsOffered() {
        let (sent, answer, _) = Self.exchange(Self.handshake(), [[5, 0]])
        let request: [UInt8] = [5, 1, 0, 3, 14] + Array("origin.example".utf8) + [1, 0xBB]
        #expect(sent == [[5, 1, 0], request])
        #expect(answer == .incomplete)
    }

    @Test func withALoginBothMethodsAreOffered() {
        let (sent, answer, _) = Self.exchange(
            Self.handshake(credential: Self.credential), [[5, 2], [1, 0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]])
        #expect(sent[0] == [5, 2, 0, 2])
        var login: [UInt8] = [1, 5]
        login += "us:er".utf8
        login.append(3)
        login += "pä".utf8
        #expect(sent[1] == login)
        #expect(sent[2].starts(with: [5, 1, 0, 3]))
        #expect(sent[3].isEmpty)
        #expect(answer == .established)
    }

    @Test func theProxyMayChooseToAskForNoLogin() {
        let (sent, answer, _) = Self.exchange(
            Self.handshake(credential: Self.credential), [[5, 0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]])
        #expect(sent[1].starts(with: [5, 1, 0, 3]))
        #expect(answer == .established)
    }

    struct Address: Sendable, CustomTestStringConvertible {
        let host: String
        let bytes: [UInt8]
        init(_ host: String, _ bytes: [UInt8]) { (self.host, self.bytes) = (host, bytes) }
        var testDescription: String { "\(self.host.prefix(20))" }
    }

    @Test(arguments: [
        Address("a", [3, 1, 0x61]),
        Address("192.0.2.1", [1, 192, 0, 2, 1]),
        Address("2001:db8::1", [4, 0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]),
        Address("::ffff:192.0.2.1", [4] + [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 192, 0, 2, 1]),
        // Only `inet_aton` takes these for addresses; the proxy decides about them as about any other name.
        Address("192.0.2", [3, 7] + Array("192.0.2".utf8)),
        Address("0x7f.1", [3, 6] + Array("0x7f.1".utf8)),
        Address(String(repeating: "n", count: 254), [3, 254] + [UInt8](repeating: 0x6E, count: 254)),
        Address(String(repeating: "n", count: 255), [3, 255] + [UInt8](repeating: 0x6E, count: 255)),
    ])
    func anEndpointIsANameOrAnAddress(_ address: Address) {
        for port in [1, 80, 443, 0x1234, 65_535] as [UInt16] {
            let (sent, answer, _) = Self.exchange(Self.handshake(host: address.host, port: port), [[5, 0]])
            #expect(sent[1] == [5, 1, 0] + address.bytes + [UInt8(port >> 8), UInt8(port & 0xFF)])
            #expect(answer == .incomplete)
        }
    }

    @Test(arguments: [256, 300, 70_000])
    func aNameThatDoesNotFitIsRefusedBeforeTheLogin(_ count: Int) {
        let host = String(repeating: "n", count: count)
        let tooLong = TransportFailure.Cause.invalidRequest("the host is longer than the 255 bytes that SOCKS allows")
        for (credential, method) in [(nil, 0), (Self.credential, 2)] as [(ProxyServer.Credential?, UInt8)] {
            let (sent, answer, _) = Self.exchange(Self.handshake(host: host, credential: credential), [[5, method]])
            #expect(sent[1].isEmpty)
            #expect(answer == .failed(tooLong))
        }
    }

    @Test(arguments: [(0, 0), (255, 255), (256, 1), (1, 256)])
    func aLoginFitsOrIsNotSent(userNameByteCount: Int, passwordByteCount: Int) {
        let user = [UInt8](repeating: 0x75, count: userNameByteCount)
        let password = [UInt8](repeating: 0x70, count: passwordByteCount)
        let (sent, answer, _) = Self.exchange(
            Self.handshake(credential: .init(userName: user, password: password)), [[5, 2]])
        if max(userNameByteCount, passwordByteCount) <= 255 {
            var request: [UInt8] = [1, UInt8(user.count)]
            request += user
            request.append(UInt8(password.count))
            request += password
            #expect(sent[1] == request)
            #expect(answer == .incomplete)
        } else {
            #expect(sent[1].isEmpty)
            guard case .failed(.proxyInvalid) = answer else {
                Issue.record("\(answer)")
                return
            }
        }
    }

    // MARK: The reply

    /// Replies that open a connection, one for each kind of address.
    static let replies: [[UInt8]] = {
        let numeric: [[UInt8]] = [
            [5, 0, 0, 1, 10, 0, 0, 1, 0x1F, 0x90], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0],
            [5, 0, 0, 4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0xFF, 0xFF],
            // The reserved byte is ignored.
            [5, 0, 0xFF, 1, 5, 0, 0, 1, 5, 0],
        ]
        let nameByteCounts: [UInt8] = [0, 1, 2, 14, 127, 128, 254, 255]
        return numeric
            + nameByteCounts.map { (count: UInt8) -> [UInt8] in
                var reply: [UInt8] = [5, 0, 0, 3, count]
                reply += Array(repeating: 5, count: Int(count))
                reply += [0, 80]
                return reply
            }
    }()

    @Test(arguments: Self.replies.indices, [false, true])
    func aReplyIsTakenToItsLastByteAndNoFurther(index: Int, hasLogin: Bool) {
        let credential = hasLogin ? Self.credential : nil
        let before: [[UInt8]] = hasLogin ? [[5, 2], [1, 0]] : [[5, 0]]
        for rest in [[], [22, 3, 1], Array("HTTP/1.1 200 OK\r\n\r\n".utf8), [5, 0, 0, 1], [0]] as [[UInt8]] {
            let (_, answer, left) = Self.exchange(
                Self.handshake(credential: credential), before + [Self.replies[index] + rest])
            #expect(answer == .established)
            #expect(left == rest.count)
        }
    }

    @Test(arguments: Self.replies.indices)
    func truncatedReplyIsIncomplete(index: Int) {
        let reply = Self.replies[index]
        for count in 0..<reply.count {
            let (_, answer, _) = Self.exchange(Self.handshake(), [[5, 0], Array(reply[..<count])])
            #expect(answer == .incomplete)
        }
    }

    /// Such a proxy may close the connection before its reply is whole.
    @Test(arguments: 1...255 as ClosedRange<UInt8>)
    func everyOtherReplyCodeIsARefusal(code: UInt8) {
        for reply in [[5, code], [5, code, 0, 1, 0, 0, 0, 0, 0, 0], [5, code, 0, 9]] as [[UInt8]] {
            let (_, answer, left) = Self.exchange(Self.handshake(), [[5, 0], reply])
            #expect(answer == .failed(.socksRefused(code: code)))
            #expect(left == reply.count - 2)
        }
    }

    @Test(arguments: 0...255 as ClosedRange<UInt8>)
    func replyWithAnUnknownAddressTypeIsNotSOCKS(type: UInt8) {
        let (_, answer, _) = Self.exchange(Self.handshake(), [[5, 0], [5, 0, 0, type]])
        #expect(answer == ([1, 3, 4].contains(type) ? .incomplete : .failed(.notSOCKS)))
    }

    // MARK: The login

    @Test(arguments: 1...255 as ClosedRange<UInt8>)
    func everyStatusButZeroRefusesTheLogin(status: UInt8) {
        let (sent, answer, _) = Self.exchange(Self.handshake(credential: Self.credential), [[5, 2], [1, status]])
        #expect(answer == .failed(.socksAuthenticationRefused(.credentialRefused)))
        #expect(sent.last == [])
    }

    @Test(arguments: 1...255 as ClosedRange<UInt8>)
    func otherMethodsAreRefusedWithoutACredential(method: UInt8) {
        let (sent, answer, _) = Self.exchange(Self.handshake(), [[5, method]])
        // A proxy may choose what was not offered, and says by that what it wants.
        let isLoginWanted = method == 2 || method == 0xFF
        let fault = isLoginWanted ? TransportFailure.SOCKSAuthenticationFault.credentialMissing : .methodsRefused
        #expect(answer == .failed(.socksAuthenticationRefused(fault)))
        #expect(sent.last == [])
    }

    @Test(arguments: [1] + Array(3...255) as [UInt8])
    func otherMethodsAreRefusedWithACredential(method: UInt8) {
        let (sent, answer, _) = Self.exchange(Self.handshake(credential: Self.credential), [[5, method]])
        #expect(answer == .failed(.socksAuthenticationRefused(.methodsRefused)))
        #expect(sent.last == [])
    }

    // MARK: Something else

    @Test(arguments: 0...255 as ClosedRange<UInt8>)
    func wrongVersionByteFailsAtOnce(version: UInt8) {
        let places: [(before: [[UInt8]], right: UInt8)] = [
            ([], 5), ([[5, 2]], 1), ([[5, 0]], 5), ([[5, 2], [1, 0]], 5),
        ]
        for place in places {
            let (_, answer, left) = Self.exchange(
                Self.handshake(credential: Self.credential), place.before + [[version, 0x00]])
            #expect((answer == .failed(.notSOCKS)) == (version != place.right))
            if version != place.right { #expect(left == 1) }
        }
    }
}
