// The digests of keys in their common spellings.

import ChappieTransport
import Testing

@Suite struct ChappiePinnedKeyTests {
    /// The SHA-256 digest of no bytes.
    private static let digest = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    @Test(arguments: ["", "sha256//", "sha256/"])
    func aDigestIsReadWithAndWithoutItsAlgorithm(prefix: String) throws {
        let key = try ChappiePinnedKey(prefix + Self.digest)
        #expect(key == (try ChappiePinnedKey(Self.digest)))
        #expect(key.description == "sha256//" + Self.digest)
    }

    /// A digest may begin like the name of an algorithm, or with a slash.
    @Test(arguments: ["sha1/", "sha256/", "sha256//", "/", "//"])
    func digestMayBeginLikeAPrefix(beginning: String) throws {
        let digest = beginning + Self.digest.dropFirst(beginning.count)
        for prefix in ["", "sha256//", "sha256/"] {
            #expect(try ChappiePinnedKey(prefix + digest).description == "sha256//" + digest)
        }
    }

    private static let faults: [(String, ChappiePinnedKey.ParseError)] = [
        ("sha1//" + digest, .unsupportedAlgorithm), ("sha1/47DE", .unsupportedAlgorithm),
        ("SHA256//" + digest, .unsupportedAlgorithm), ("sha512/" + digest, .unsupportedAlgorithm),
        ("sha384//!", .unsupportedAlgorithm),
        ("", .wrongLength), ("sha256//", .wrongLength), ("47DE", .wrongLength), ("sha256//47DE", .wrongLength),
        (digest + digest, .notBase64), ("sha256//" + digest.dropLast(), .notBase64), (digest + " ", .notBase64),
        ("sha256//" + digest + "\n", .notBase64), ("sha256// " + digest, .notBase64),
        ("47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=", .notBase64),
        // The last digit has bits that belong to no byte.
        ("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=", .notBase64),
        ("pin-sha256=\"" + digest + "\"", .notBase64),
        ("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFUA", .wrongLength),
    ]

    @Test(arguments: Self.faults)
    func invalidDigestIsAnError(text: String, expected: ChappiePinnedKey.ParseError) {
        #expect(throws: expected) { try ChappiePinnedKey(text) }
        #expect(expected.errorDescription?.hasPrefix("The pin of a key ") == true)
    }
}
