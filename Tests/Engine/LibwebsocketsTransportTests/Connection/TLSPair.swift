// A client's TLS layer and a server over memory, with every byte between them in the hands of the test.
// Both belong to the test that makes them.

import CLibwebsocketsShim
import CTLSServer
import Foundation
import StreamTransport

@testable import LibwebsocketsTransport

/// Versions of TLS, by their numbers on the wire.
enum TLSVersion: CInt, CaseIterable, Sendable {
    case version12 = 0x0303
    case version13 = 0x0304
}

/// A server with a certificate of its own.
final class MemoryServer {
    struct Failure: Error {}

    fileprivate let pointer: OpaquePointer

    /// Without sessions every handshake is a whole one.
    init(_ version: TLSVersion, name: String = "origin.test", hasSessions: Bool = false) throws {
        guard let pointer = cts_server_create(name, version.rawValue, hasSessions) else { throw Failure() }
        self.pointer = pointer
    }

    deinit { cts_server_free(self.pointer) }

    /// The certificate, in PEM.
    var certificate: String { String(cString: cts_server_certificate(self.pointer)) }

    /// Replaces the certificate by an untrusted one; sessions are known as before.
    func changeCertificate() throws {
        guard cts_server_change_certificate(self.pointer, "origin.test") else { throw Failure() }
    }
}

/// The settings of clients, with the sessions that they resume.
final class MemoryClient {
    fileprivate let context: OpaquePointer

    /// Trusts the certificates of some servers.
    init(trusting servers: MemoryServer...) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).pem")
        try Data(servers.map(\.certificate).joined().utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        self.context = try makeTLSContext(for: ChappieTLSPolicy(trust: .file(path: file.path)))
    }

    deinit { clws_tls_context_free(self.context) }
}

/// A connection between the two.
final class TLSPair {
    let client: TLSLayer
    /// The plaintext that the client was given.
    private(set) var plaintext: [UInt8] = []
    /// The bytes that the client has made and the server has not got.
    private(set) var fromClient: [UInt8] = []
    private let server: OpaquePointer
    // They are freed after what is made from them.
    private let owners: (MemoryServer, MemoryClient)

    /// A connection whose first message the client has made.
    init(_ server: MemoryServer, _ client: MemoryClient, name: String = "origin.test") throws {
        guard let connection = cts_connection_create(server.pointer),
            let layer = TLSLayer(context: client.context, host: name, port: 443)
        else { throw MemoryServer.Failure() }
        self.server = connection
        self.client = layer
        self.owners = (server, client)
        self.fromClient = Self.taken { layer.start($0) }.bytes
    }

    /// A connection whose server is alone trusted.
    convenience init(_ version: TLSVersion) throws {
        let server = try MemoryServer(version)
        try self.init(server, MemoryClient(trusting: server))
    }

    deinit { cts_connection_free(self.server) }

    // MARK: The server

    /// Indicates whether the server's handshake is complete.
    var isServerOpen: Bool { cts_is_open(self.server) }
    /// The number of plaintext bytes that the server has received.
    var serverReceivedCount: Int { cts_received_count(self.server) }
    /// The number of the last alert that the server was given; 0 without one.
    var serverReceivedAlert: CInt { cts_received_alert(self.server) & 0xFF }

    /// Gives the server what the client has made, and returns the server's answer.
    func exchange() -> [UInt8] {
        _ = cts_receive(self.server, self.fromClient, self.fromClient.count)
        self.fromClient = []
        return self.take()
    }

    func serve(_ text: String) -> [UInt8] {
        _ = cts_send(self.server, Array(text.utf8), text.utf8.count)
        return self.take()
    }

    func end() -> [UInt8] {
        cts_end(self.server)
        return self.take()
    }

    /// A fatal alert bad_record_mac.
    func sendAlert() -> [UInt8] {
        cts_alert(self.server)
        return self.take()
    }

    func requestRenegotiation() -> [UInt8] {
        cts_renegotiate(self.server) ? self.take() : []
    }

    func requestKeyUpdate() -> [UInt8] {
        cts_update_keys(self.server) ? self.take() : []
    }

    private func take() -> [UInt8] {
        Array(unsafeUninitializedCapacity: 1 << 20) { buffer, count in
            count = buffer.baseAddress.map { cts_take(self.server, $0, buffer.count) } ?? 0
        }
    }

    // MARK: The client

    var state: clws_tls_state { self.client.state }
    /// The fatal alert that the client knows of.
    var alert: CInt { self.client.details.alert }

    /// Gives the client bytes, with exactly the room that it is promised.
    func receive(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + TLSLayer.overhead, alignment: 1)
        defer { room.deallocate() }
        let client = self.client
        let (step, made) = bytes.withUnsafeBytes { bytes in
            Self.taken { client.receive(bytes, into: room, answering: $0) }
        }
        self.plaintext += room[..<step.plaintextCount]
        self.fromClient += made
    }

    func send(_ text: String) {
        let client = self.client
        self.fromClient += Array(text.utf8).withUnsafeBytes { bytes in Self.taken { client.send(bytes, into: $0) }.bytes
        }
    }

    /// Continues until neither side has bytes to send.
    func finish() {
        while !self.fromClient.isEmpty { self.receive(self.exchange()) }
    }

    /// Returns whether text gets from each side to the other.
    func passesText() -> Bool {
        let (receivedCount, plaintextCount) = (self.serverReceivedCount, self.plaintext.count)
        self.send("question")
        self.receive(self.exchange())
        self.receive(self.serve("answer"))
        return self.serverReceivedCount == receivedCount + 8
            && self.plaintext[plaintextCount...].elementsEqual("answer".utf8)
    }

    private static func taken(
        _ body: (UnsafeMutableRawBufferPointer) -> TLSLayer.Step
    ) -> (step: TLSLayer.Step, bytes: [UInt8]) {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: TLSLayer.overhead, alignment: 1)
        defer { room.deallocate() }
        let step = body(room)
        return (step, Array(room[..<step.ciphertextCount]))
    }
}

/// Returns the ends of the records in some ciphertext (RFC 8446 section 5.1).
func recordEnds(in bytes: [UInt8]) -> [Int] {
    var ends: [Int] = []
    var position = 0
    while position + 5 <= bytes.count {
        position += 5 + Int(bytes[position + 3]) << 8 + Int(bytes[position + 4])
        ends.append(position)
    }
    return ends
}
