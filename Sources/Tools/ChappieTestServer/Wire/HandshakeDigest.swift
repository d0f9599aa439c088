import CTestServerTLS
import PlatformFoundation

/// The accept key of an opening handshake.
package enum HandshakeDigest {
    /// `Sec-WebSocket-Accept` for a client's key (RFC 6455 section 4.2.2, step 5.4).
    package static func acceptKey(for key: String) -> String {
        Data(self.sha1(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))).base64EncodedString()
    }

    /// The SHA-1 digest (FIPS 180-4).
    static func sha1(_ message: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        ctts_sha1(message, message.count, &digest)
        return digest
    }
}
