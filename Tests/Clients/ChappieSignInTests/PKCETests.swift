import ChappieTransport
import Foundation
import StreamTransport
import Testing

@testable import ChappieSignIn

/// The secrets of an authorization request.
@Suite struct PKCETests {
    /// RFC 7636 appendix B.
    @Test func challengeMatchesTheExampleOfRFC7636() {
        let bytes: [UInt8] = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214,
            191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
        ]
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(CodeChallenge.base64url(bytes) == verifier)
        #expect(CodeChallenge.s256(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    /// FIPS 180-4's examples, as base64url.
    @Test(arguments: [
        ("", "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"), ("abc", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"),
    ])
    func theDigestIsSHA256(text: String, digest: String) {
        #expect(CodeChallenge.s256(text) == digest)
    }

    /// RFC 7636 appendix A, and section 4.1: 43 to 128 unreserved characters.
    @Test func theSecretsHaveTheirLengthsAndNoPadding() throws {
        let key = try ProofKey(.system)
        #expect(key.verifier.count == 86 && key.challenge.count == 43 && key.state.count == 43)
        for secret in [key.verifier, key.challenge, key.state] {
            #expect(secret.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
        }
        #expect(key.challenge == CodeChallenge.s256(key.verifier))
    }

    @Test func everySecretIsMadeOfNewBytes() throws {
        let keys = try (0..<50).map { _ in try ProofKey(.system) }
        #expect(Set(keys.flatMap { [$0.verifier, $0.state] }).count == 100)
    }

    @Test func theVerifierIs64BytesAndTheStateIs32() throws {
        let counts = LockedValue<[Int]>([])
        let key = try ProofKey(
            SecureRandom { count in
                counts.withLock { $0.append(count) }
                return [UInt8](repeating: 0xFB, count: count)
            })
        #expect(counts.withLock { $0 } == [64, 32])
        #expect(key.state == String(repeating: "-_v7", count: 10) + "-_s")
    }

    @Test func aSystemWithoutRandomBytesIsAnError() throws {
        let broken = SecureRandom { _ throws(ChappieAuthError) in throw .secureRandomFailed(statusCode: EIO) }
        #expect(throws: ChappieAuthError.secureRandomFailed(statusCode: EIO)) { try ProofKey(broken) }
    }

    /// Linux returns 256 bytes at most, and an error for more.
    @Test func theSystemsRefusalCarriesItsStatusCode() {
        #expect(throws: ChappieAuthError.secureRandomFailed(statusCode: EIO)) { try SecureRandom.system.bytes(257) }
    }

    @Test func proofKeyDescriptionIsRedacted() throws {
        let key = try ProofKey(.system)
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(!text.contains(key.verifier) && !text.contains(key.state))
        }
    }
}
