import CLibwebsocketsShim

/// Encrypts what a journal keeps, with AES-256-GCM (NIST SP 800-38D).
///
/// Pure. Each stream has keys of its own, derived (HMAC-SHA-256) from the first of some secret keys; the others only decrypt.
/// The nonce is derived from the content and its place, so that a batch that is appended again is the same bytes: contents
/// with one nonce are equal, and at one place.
struct JournalCipher: Sendable {
    /// The system's library cannot compute, such as without memory.
    struct Failure: Error {}

    /// The size of a sealed content beyond its own: the version, the nonce and the tag.
    static let overhead = 1 + nonceByteCount + tagByteCount

    private static let keyByteCount = Int(CLWS_SEAL_KEY_COUNT)
    private static let nonceByteCount = Int(CLWS_SEAL_NONCE_COUNT)
    private static let tagByteCount = Int(CLWS_SEAL_TAG_COUNT)
    private static let version: UInt8 = 1

    private let secrets: [[UInt8]]

    /// Creates a cipher; nil without a key, and with one that has not 32 bytes.
    init?(secrets: [[UInt8]]) {
        guard !secrets.isEmpty, secrets.allSatisfy({ $0.count == Self.keyByteCount }) else { return nil }
        self.secrets = secrets
    }

    /// Returns the names under which the journal may know a program's name for a stream, that for a new stream first.
    func names(of key: String) throws(Failure) -> [String] {
        var names: [String] = []
        for secret in self.secrets {
            let digest = try Self.digest(secret, "name \(key)")
            names.append(digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
        }
        return names
    }

    /// Encrypts the content of a position.
    func seal(_ content: [UInt8], of id: ChappieStreamID, at position: Int) throws(Failure) -> [UInt8] {
        let (key, place) = (try Self.digest(self.secrets[0], "stream \(id)"), Self.place(id, position))
        let nonceKey = try Self.digest(self.secrets[0], "nonce \(id)")
        let nonce = Array(try Self.digest(nonceKey, "\(position) ", content).prefix(Self.nonceByteCount))
        var isMade = false
        let sealed = [UInt8](unsafeUninitializedCapacity: content.count + Self.tagByteCount) { buffer, count in
            isMade = clws_seal(key, nonce, place, place.count, content, content.count, buffer.baseAddress)
            count = isMade ? content.count + Self.tagByteCount : 0
        }
        guard isMade else { throw Failure() }
        return [Self.version] + nonce + sealed
    }

    /// Decrypts the content of a position; nil where it was not made for it with one of the keys.
    func open(_ sealed: [UInt8], of id: ChappieStreamID, at position: Int) throws(Failure) -> [UInt8]? {
        guard sealed.count >= Self.overhead, sealed[0] == Self.version else { return nil }
        let nonce = Array(sealed[1...Self.nonceByteCount])
        let content = Array(sealed[(1 + Self.nonceByteCount)...])
        let place = Self.place(id, position)
        for secret in self.secrets {
            let key = try Self.digest(secret, "stream \(id)")
            var isMade = false
            let opened = [UInt8](unsafeUninitializedCapacity: content.count) { buffer, count in
                isMade = clws_open(key, nonce, place, place.count, content, content.count, buffer.baseAddress)
                count = isMade ? content.count - Self.tagByteCount : 0
            }
            if isMade { return opened }
        }
        return nil
    }

    private static func place(_ id: ChappieStreamID, _ position: Int) -> [UInt8] {
        Array("chappie-journal \(id) \(position)".utf8)
    }

    private static func digest(
        _ key: [UInt8], _ words: String, _ content: [UInt8] = []
    ) throws(Failure) -> [UInt8] {
        let bytes = Array(words.utf8) + content
        var isMade = false
        let digest = [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            isMade = clws_hmac_sha256(key, bytes, bytes.count, buffer.baseAddress)
            count = isMade ? 32 : 0
        }
        guard isMade else { throw Failure() }
        return digest
    }
}
