// Servers with a certificate.

import CLibwebsocketsShim
import CTestServerTLS
import PlatformC
import RelayHTTPServer
import StreamTransport
import Testing

/// A certificate for localhost, and its authority, in files.
private final class CertificateFiles {
    let folder: String
    var chain: String { self.folder + "/chain.pem" }
    var key: String { self.folder + "/key.pem" }
    var authority: String { self.folder + "/authority.pem" }

    init() throws {
        var template = Array("/tmp/relay-tests-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        self.folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var options = ctts_identity_options()
        let identity = try #require(ctts_identity_create(&options))
        defer { ctts_identity_free(identity) }
        try self.write(ctts_identity_leaf_pem(identity), to: self.chain)
        try self.write(ctts_identity_leaf_key_pem(identity), to: self.key)
        try self.write(ctts_identity_ca_pem(identity), to: self.authority)
    }

    private func write(_ text: UnsafePointer<CChar>, to path: String) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        fclose(file)
    }

    deinit {
        for path in [self.chain, self.key, self.authority] { unlink(path) }
        rmdir(self.folder)
    }
}

/// TLS by the client's own layer, on a plain socket.
///
/// - Safety: one task uses it at a time.
private final class SecureClient: @unchecked Sendable {
    private static let anchors = LockedValue<[UInt]>([])

    private let socket: RawClient
    private let context: OpaquePointer
    private let tls: OpaquePointer
    private var received: [UInt8] = []
    private var hasEnded = false

    init(port: UInt16, authority: String) throws {
        self.socket = try RawClient(port: port)
        let trust = try #require(clws_trust_create(authority))
        // Trust anchors are never freed; where nothing refers to them, the leak sanitizer reports them.
        Self.anchors.withLock { $0.append(UInt(bitPattern: trust)) }
        var fault = clws_tls_context_fault.none
        var options = clws_tls_options()
        options.trust = trust
        self.context = try #require(clws_tls_context_create(&options, &fault))
        self.tls = try #require(clws_tls_create(self.context, "localhost", port))
        try self.step { clws_tls_start(self.tls, $1.baseAddress, $1.count) }
    }

    deinit {
        clws_tls_free(self.tls)
        clws_tls_context_free(self.context)
    }

    @discardableResult
    private func step(
        _ body: (UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer) -> clws_tls_step
    ) throws -> clws_tls_state {
        var plain = [UInt8](repeating: 0, count: 262_144)
        var secret = [UInt8](repeating: 0, count: 262_144)
        let step = plain.withUnsafeMutableBytes { plain in secret.withUnsafeMutableBytes { body(plain, $0) } }
        self.received += plain[..<step.plaintext_count]
        if step.ciphertext_count > 0 { try self.socket.sendNow(Array(secret[..<step.ciphertext_count])) }
        if step.state == .ended || step.state == .failed { self.hasEnded = true }
        return step.state
    }

    private func receiveMore() throws {
        let bytes = try self.socket.takeSomeNow()
        try self.step {
            clws_tls_receive(self.tls, bytes, bytes.count, $0.baseAddress, $0.count, $1.baseAddress, $1.count)
        }
    }

    var protocolName: String {
        withUnsafeBytes(of: clws_tls_session(self.tls).protocol) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    func send(_ text: String) throws {
        while true {
            let state = try self.step { _, secret in
                clws_tls_send(self.tls, [], 0, secret.baseAddress, secret.count)
            }
            if state == .open { break }
            try self.receiveMore()
        }
        let bytes = Array(text.utf8)
        try self.step { clws_tls_send(self.tls, bytes, bytes.count, $1.baseAddress, $1.count) }
    }

    /// Receives until the text ends with this, or the connection does.
    func receive(until end: String) throws -> String {
        while true {
            let text = String(decoding: self.received, as: UTF8.self)
            if text.hasSuffix(end) || self.hasEnded {
                self.received = []
                return text
            }
            try self.receiveMore()
        }
    }
}

@Suite struct TLSTests {
    private func withSecureServer(
        _ body: (HTTPServer, CertificateFiles) async throws -> Void
    ) async throws {
        let files = try CertificateFiles()
        try await withServer(
            { $0.tls = .init(certificateChain: files.chain, privateKey: files.key) },
            handler: { request, exchange in
                guard request.path == "/stream" else { return echo(request, exchange) }
                try? exchange.begin()
                exchange.run {
                    for _ in 0..<100 { try? await exchange.write([UInt8](repeating: 0x61, count: 50_000)) }
                    exchange.finish()
                }
            }
        ) { server in
            try await body(server, files)
        }
    }

    @Test func requestsAreAnsweredOverTLS() async throws {
        try await self.withSecureServer { server, files in
            let (port, authority) = (server.port, files.authority)
            try await blocking {
                let client = try SecureClient(port: port, authority: authority)
                for path in ["/1", "/2"] {
                    try client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
                    let text = try client.receive(until: "GET \(path) ")
                    #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
                }
                #expect(client.protocolName == "http/1.1")
                try client.send("GET /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                let text = try client.receive(until: "\r\n0\r\n\r\n")
                #expect(text.utf8.count { $0 == 0x61 } >= 5_000_000)
                // close_notify
                #expect(try client.receive(until: "never").isEmpty)
            }
        }
    }

    @Test func plainRequestToATLSPortIsClosed() async throws {
        try await self.withSecureServer { server, _ in
            let client = try RawClient(port: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.end().end != .timedOut)
        }
    }

    @Test func certificateThatCannotBeReadIsReported() async throws {
        let files = try CertificateFiles()
        var configuration = HTTPServerConfiguration()
        configuration.tls = .init(certificateChain: files.chain, privateKey: files.chain)
        await #expect(throws: HTTPServer.Failure.invalidCertificate) {
            try await HTTPServer.start(configuration, handler: echo)
        }
        configuration.tls = .init(certificateChain: "/nowhere.pem", privateKey: files.key)
        await #expect(throws: HTTPServer.Failure.invalidCertificate) {
            try await HTTPServer.start(configuration, handler: echo)
        }
    }
}
