import ChappieTestServer
import Foundation
import StreamTransport
import Testing

@testable import ChappieSignIn

/// The answer to a browser's request.
struct BrowserAnswer: Sendable {
    /// The status code; nil when the connection ended without one.
    let statusCode: Int?
    /// Everything that came.
    let text: String

    init(_ text: String) {
        self.text = text
        self.statusCode = text.hasPrefix("HTTP/1.1 ") ? Int(text.dropFirst(9).prefix(3)) : nil
    }
}

/// Requests as a browser makes them, byte for byte.
enum BrowserRequests {
    /// Returns a connection to a port of this machine; nil without a listener.
    static func connect(to port: UInt16) -> RawPeer? {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        let isConnected = withUnsafeBytes(of: &address) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return Glibc.connect(descriptor, pointer, socklen_t(bytes.count)) == 0
        }
        guard isConnected else {
            Glibc.close(descriptor)
            return nil
        }
        return RawPeer(descriptor: descriptor)
    }

    /// Sends bytes, and reads to the end.
    static func send(_ text: String, to port: UInt16) async throws -> BrowserAnswer {
        let peer = try #require(Self.connect(to: port))
        peer.write(text)
        return await Self.answer(peer)
    }

    /// Reads to the end.
    static func answer(_ peer: RawPeer) async -> BrowserAnswer {
        BrowserAnswer(String(decoding: await peer.readToEnd().bytes, as: UTF8.self))
    }

    /// The head of a GET.
    static func get(_ target: String, port: UInt16, fields: [String] = []) -> String {
        "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    /// Sends a request to a sign-in.
    static func ask(_ target: String, of signIn: ChappieBrowserSignIn) async throws -> BrowserAnswer {
        try await Self.send(Self.get(target, port: signIn.port), to: signIn.port)
    }
}

/// A port of this machine that is taken, and that does not answer.
final class TakenPort: Sendable {
    let port: UInt16
    private let descriptor: CInt

    init() throws {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = self.descriptor
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
        }
        self.port = UInt16(bigEndian: address.sin_port)
        try #require(isBound)
    }

    deinit { close(self.descriptor) }
}

extension ChappieBrowserSignIn {
    /// The value of a parameter of the authorization URL.
    func parameter(_ name: String) throws -> String {
        let items = URLComponents(url: self.authorizationURL, resolvingAgainstBaseURL: false)?.queryItems
        return try #require(items?.first { $0.name == name }?.value)
    }

    /// The callback with these parameters, and the right state.
    func callback(_ query: String) throws -> String { "/auth/callback?\(query)&state=\(try self.parameter("state"))" }

    /// Opens the authorization URL as a browser does: where the server sends it, without going there.
    func redirection() async throws -> String {
        let url = self.authorizationURL
        let port = UInt16(try #require(url.port))
        let target = "\(url.path)?\(try #require(url.query(percentEncoded: true)))"
        let request = BrowserRequests.get(target, port: port, fields: ["Connection: close"])
        let answer = try await BrowserRequests.send(request, to: port)
        #expect(answer.statusCode == 302)
        let location = answer.text.split(separator: "\r\n").first { $0.lowercased().hasPrefix("location: ") }
        let address = try #require(location.flatMap { URL(string: String($0.dropFirst("location: ".count))) })
        #expect(address.host() == "127.0.0.1" && address.port == Int(self.port))
        return "\(address.path)?\(try #require(address.query(percentEncoded: true)))"
    }
}
