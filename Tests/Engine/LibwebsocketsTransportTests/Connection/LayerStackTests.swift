// The layers between a socket and HTTP, without a socket.

import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite(.serialized) struct LayerStackTests {
    private static let endpoint = TransportEndpoint(isSecure: true, host: "origin.test", port: 443, target: "/")
    private static let established = "HTTP/1.1 200 Connection established\r\n\r\n"

    /// A stack with the bytes that it has sent and delivered so far.
    private struct Run {
        let scratch = LayerScratch()
        var stack: LayerStack
        var sent: [UInt8] = []
        var plaintext: [UInt8] = []
        var outcomes: [LayerStack.Outcome] = []

        init(_ plans: [LayerStack.Plan]) {
            self.stack = LayerStack(plans, scratch: self.scratch)
            self.note(self.stack.start())
        }

        private mutating func note(_ outcome: LayerStack.Outcome) {
            if outcome != .unchanged { self.outcomes.append(outcome) }
            var sent = self.sent
            self.scratch.takeOutput { sent.append(contentsOf: $0) }
            self.sent = sent
        }

        mutating func receive(_ bytes: some Sequence<UInt8>) {
            let bytes = Array(bytes)
            let room = UnsafeMutableRawBufferPointer.allocate(
                byteCount: bytes.count + TLSLayer.overhead, alignment: 1)
            defer { room.deallocate() }
            let (count, outcome) = bytes.withUnsafeBytes { self.stack.receive($0, into: room) }
            self.plaintext.append(contentsOf: room[..<count])
            self.note(outcome)
        }

        mutating func send(_ text: String) {
            Array(text.utf8).withUnsafeBytes { self.stack.send($0) }
            self.note(.unchanged)
        }
    }

    private static func greeting(_ proxy: ProxyServer) throws -> LayerStack.Plan {
        .greeting(try ProxyGreeting(for: Self.endpoint, through: proxy))
    }

    private static let proxy = ProxyServer(host: "proxy.test", port: 3128)

    /// Kept, as a service thread keeps its own.
    /// - Safety: the tests of this suite run one after the other.
    nonisolated(unsafe) private static let kept = Result { try makeTLSContext(for: ChappieTLSPolicy()) }

    private static func context() throws -> OpaquePointer { try Self.kept.get() }

    @Test func withoutLayersTheRequestMayGoOutAtOnce() {
        let run = Run([])
        #expect(run.outcomes == [.established])
        #expect(run.stack.isTransparent)
        #expect(run.stack.isEstablished)
        #expect(!run.stack.isAtProxy)
        #expect(run.stack.hasEndInOrder)
    }

    @Test func bytesBehindAProxysAnswerAreTheTunnelsAtEverySplit() throws {
        let bytes = Array((Self.established + "hello").utf8)
        for cut in 0...bytes.count {
            var run = Run([try Self.greeting(Self.proxy)])
            #expect(run.stack.isAtProxy)
            #expect(!run.stack.isTransparent)
            run.receive(bytes[..<cut])
            run.receive(bytes[cut...])
            #expect(run.outcomes == [.established], "\(cut)")
            #expect(run.plaintext == Array("hello".utf8), "\(cut)")
            #expect(run.stack.isTransparent)
            run.send("there")
            #expect(
                String(decoding: run.sent, as: UTF8.self)
                    == "CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n\r\nthere")
        }
    }

    @Test func everyAnswerOfSOCKSIsWaitedFor() throws {
        var run = Run([try Self.greeting(ProxyServer(scheme: .socks5, host: "proxy.test", port: 1080))])
        #expect(run.sent == [5, 1, 0])
        run.receive([5])
        #expect(run.sent == [5, 1, 0])
        run.receive([0])
        #expect(run.sent == [5, 1, 0, 5, 1, 0, 3, 11] + Array("origin.test".utf8) + [0x01, 0xBB])
        run.receive([5, 0, 0, 1, 0, 0, 0, 0, 0])
        #expect(run.outcomes.isEmpty)
        run.receive([0, 0x68])
        #expect(run.outcomes == [.established])
        #expect(run.plaintext == [0x68])
    }

    @Test func aRefusalIsTheProxys() throws {
        var run = Run([try Self.greeting(Self.proxy)])
        run.receive("HTTP/1.1 403 No\r\n\r\n".utf8)
        #expect(run.outcomes == [.failed(TransportFailure(phase: .proxy, cause: .proxyRefused(statusCode: 403)))])
        #expect(!run.stack.isEstablished)
    }

    @Test func endBeforeTheTunnelIsAFailureOfTheProxy() throws {
        let run = Run([try Self.greeting(Self.proxy)])
        #expect(run.stack.failureOfEnd == TransportFailure(phase: .proxy, cause: .connectionLost))
    }

    @Test func handshakeBeginsWhenTheTunnelIsEstablished() throws {
        let tls = LayerStack.Plan.tls(context: try Self.context(), host: "origin.test", port: 443, isProxy: false)
        var run = Run([try Self.greeting(Self.proxy), tls])
        let questionCount = run.sent.count
        run.receive(Self.established.utf8)
        #expect(run.outcomes.isEmpty)
        #expect(!run.stack.isAtProxy)
        #expect(!run.stack.hasEndInOrder)
        // A record of a handshake (RFC 8446 section 5.1), with the name of the server in it.
        #expect(run.sent[questionCount] == 22)
        #expect(String(decoding: run.sent[questionCount...], as: UTF8.self).contains("origin.test"))
        #expect(run.stack.failureOfEnd == TransportFailure(phase: .tls, cause: .tlsHandshakeFailed))
    }

    @Test(arguments: [false, true])
    func bytesThatAreNotTLSFailTheHandshakeAtEverySplit(isProxy: Bool) throws {
        let bytes = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
        for cut in 0...bytes.count {
            let tls = LayerStack.Plan.tls(context: try Self.context(), host: "::1", port: 443, isProxy: isProxy)
            var run = Run([tls] + (isProxy ? [try Self.greeting(Self.proxy)] : []))
            #expect(run.stack.isAtProxy == isProxy)
            run.receive(bytes[..<cut])
            run.receive(bytes[cut...])
            guard case .failed(let failure)? = run.outcomes.first else {
                Issue.record("no failure at \(cut)")
                continue
            }
            #expect(failure.phase == (isProxy ? .proxy : .tls))
            #expect(run.plaintext.isEmpty)
        }
    }

    @Test func aServerWithoutANameHasNoTLS() throws {
        let run = Run([.tls(context: try Self.context(), host: "", port: 443, isProxy: false)])
        #expect(run.outcomes == [.failed(TransportFailure(phase: .connect, cause: .unavailable))])
    }

    @Test func aCredentialOfAnyLengthIsSentInOrder() throws {
        let credential = ProxyServer.Credential(
            userName: Array("u".utf8), password: [UInt8](repeating: 0x70, count: 300_000))
        let run = Run([try Self.greeting(ProxyServer(host: "proxy.test", port: 3128, credential: credential))])
        #expect(
            String(decoding: run.sent, as: UTF8.self)
                == "CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n"
                + "Proxy-Authorization: \(credential.basicAuthorization)\r\n\r\n")
    }
}
