import Foundation
import Testing

@testable import ChappieSignIn

/// The answers of a token endpoint, and bodies that are not answers.
@Suite struct TokenGrantTests {
    private static func grant(_ body: String) -> TokenGrant? { TokenGrant(body: Array(body.utf8)) }

    @Test func theTokensAreRead() throws {
        let grant = try #require(
            Self.grant(
                #"{"access_token":"a","refresh_token":"r","id_token":"i","token_type":"Bearer","expires_in":60}"#))
        #expect(grant.accessToken == "a" && grant.refreshToken == "r" && grant.idToken == "i" && grant.expiresIn == 60)
    }

    @Test(arguments: [
        "", " ", "{", "}", "null", "true", "7", "[]", #""a""#, "<html>", #"{"access_token":"a""#,
        #"{"access_token":7}"#,
        #"{"access_token":"a","refresh_token":{}}"#, #"{"id_token":[]}"#, #"{"access_token":true}"#, "{}{}",
        #"{"access_token":"a"} x"#,
    ])
    func invalidTokenResponseHasNoGrant(body: String) {
        #expect(Self.grant(body) == nil)
    }

    @Test func bytesThatAreNotTextAreNotAGrant() {
        #expect(TokenGrant(body: Array(#"{"access_token":""#.utf8) + [0xFF] + Array(#""}"#.utf8)) == nil)
        #expect(TokenGrant(body: [UInt8](repeating: 0, count: 1_000)) == nil)
    }

    @Test func missingNullAndEmptyTokensAreNil() throws {
        for body in ["{}", #"{"access_token":null,"refresh_token":null}"#, #"{"access_token":"","id_token":""}"#] {
            let grant = try #require(Self.grant(body))
            #expect(grant.accessToken == nil && grant.refreshToken == nil && grant.idToken == nil)
        }
    }

    @Test(arguments: [
        ("3600", 3_600.0), (#""3600""#, 3_600), ("0.5", 0.5), ("0", nil), ("-1", nil), (#""soon""#, nil),
        (#""inf""#, nil), (#""nan""#, nil), ("null", nil), ("[]", nil),
    ])
    func aLifetimeIsAPositiveNumber(value: String, seconds: Double?) throws {
        #expect(try #require(Self.grant(#"{"expires_in":\#(value)}"#)).expiresIn == seconds)
    }

    /// RFC 6749 section 7.1: a client must not use a token of an unknown type.
    @Test(arguments: [
        (#""Bearer""#, true), (#""bearer""#, true), (#""BEARER""#, true), ("null", true), (#""""#, false), ("1", false),
        (#""DPoP""#, false), (#""mac""#, false), (#""Bearer x""#, false),
    ])
    func onlyATokenForItsBearerSignsIn(type: String, signsIn: Bool) async throws {
        var configuration = ChappieConfiguration()
        let storage = ChappieMemoryCredentialStorage()
        configuration.credentialStorage = storage
        configuration.signIn.clientID = "client"
        let session = Chappie.authSession(configuration: configuration)
        let grant = try #require(Self.grant(#"{"access_token":"a","refresh_token":"r","token_type":\#(type)}"#))
        if signsIn {
            #expect(try await session.finish(grant).name == "default")
        } else {
            await #expect(throws: ChappieAuthError.invalidResponse) { try await session.finish(grant) }
        }
        #expect(try (storage.credential(of: "default") != nil) == signsIn)
    }

    @Test func expiryClaimPrecedesExpiresIn() throws {
        let grant = try #require(Self.grant(#"{"expires_in":60}"#))
        let now = Date(timeIntervalSince1970: 1_000)
        let token = "a.\(Data(#"{"exp":5}"#.utf8).base64EncodedString().replacing("=", with: "")).c"
        #expect(grant.expiresAt(of: token, now: now) == Date(timeIntervalSince1970: 5))
        #expect(grant.expiresAt(of: "opaque", now: now) == Date(timeIntervalSince1970: 1_060))
        #expect(try #require(Self.grant("{}")).expiresAt(of: "opaque", now: now) == nil)
    }
}
