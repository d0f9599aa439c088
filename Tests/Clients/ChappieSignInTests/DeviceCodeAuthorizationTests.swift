import Foundation
import Testing

@testable import ChappieSignIn
@testable import ChappieTransport

/// The server's answer to a request for a device code.
@Suite struct DeviceCodeAuthorizationTests {
    private static let date = Date(timeIntervalSince1970: 1_800_000_000)

    private static func read(
        _ body: String, isStandard: Bool, statusCode: Int = 200
    ) throws -> DeviceAuthorization {
        let url = try #require(URL(string: "https://issuer.example/codex/device"))
        let grant: ChappieAuthorizationServer.DeviceGrant =
            isStandard
            ? .standard(deviceAuthorization: url)
            : .authorizationCode(userCode: url, poll: url, verification: url, redirectURI: "https://issuer.example/cb")
        let answer = FetchedDocument(statusCode: statusCode, fields: [], body: Array(body.utf8))
        return try DeviceAuthorization(answer, of: grant, date: Self.date)
    }

    /// The example of RFC 8628 section 3.2.
    @Test func theExampleOfTheStandardIsRead() throws {
        let body = """
            {"device_code":"GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS","user_code":"WDJB-MJHT",
            "verification_uri":"https://example.com/device",
            "verification_uri_complete":"https://example.com/device?user_code=WDJB-MJHT",
            "expires_in":1800,"interval":5}
            """
        let read = try Self.read(body, isStandard: true)
        #expect(read.deviceCode == "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS")
        #expect(read.userCode == "WDJB-MJHT")
        #expect(read.verificationURL.absoluteString == "https://example.com/device")
        #expect(read.completeVerificationURL?.absoluteString == "https://example.com/device?user_code=WDJB-MJHT")
        #expect(read.interval == .seconds(5))
        #expect(read.lifetime == .seconds(1_800))
    }

    @Test(arguments: ["user_code", "usercode"])
    func theOtherFormIsRead(name: String) throws {
        let body = #"{"device_auth_id":"dev_1","\#(name)":"ABCD-12345","interval":"5"}"#
        let read = try Self.read(body, isStandard: false)
        #expect(read.deviceCode == "dev_1")
        #expect(read.userCode == "ABCD-12345")
        #expect(read.verificationURL.absoluteString == "https://issuer.example/codex/device")
        #expect(read.completeVerificationURL == nil)
        #expect(read.interval == .seconds(5))
        #expect(read.lifetime == nil)
    }

    @Test(arguments: [
        (#""7""#, 7.0), ("7", 7), ("0", 1), (#""0""#, 1), ("0.25", 1), ("2.5", 2.5), ("-3", 5), (#""soon""#, 5),
        ("null", 5), ("1e300", 3_600), (#""inf""#, 5), (#""nan""#, 5), ("[]", 5), ("true", 5), ("1000000", 3_600),
    ])
    func anIntervalIsATextOrANumberAndStaysWithinBounds(value: String, seconds: Double) throws {
        for isStandard in [true, false] {
            let body = Self.body(#""interval":\#(value)"#)
            #expect(try Self.read(body, isStandard: isStandard).interval == .seconds(seconds))
        }
    }

    @Test func withoutAnIntervalItIsFiveSeconds() throws {
        #expect(try Self.read(Self.body(#""x":1"#), isStandard: true).interval == .seconds(5))
        #expect(try Self.read(Self.body(#""x":1"#), isStandard: false).interval == .seconds(5))
    }

    @Test(arguments: [
        (#""expires_in":600"#, 600.0), (#""expires_in":"600""#, 600), (#""expires_in":0"#, nil),
        (#""expires_in":-1"#, nil), (#""expires_in":1e300"#, 86_400),
        // 1 800 000 000 is 2027-01-15T08:00:00Z.
        (#""expires_at":"2027-01-15T08:10:00Z""#, 600), (#""expires_at":"2027-01-15T08:10:00.000Z""#, 600),
        (#""expires_at":1800000600"#, 600), (#""expires_at":"2027-01-15T08:00:10Z""#, nil),
        (#""expires_at":"2026-01-15T08:10:00Z""#, nil), (#""expires_at":"2030-01-15T08:10:00Z""#, nil),
        (#""expires_at":"tomorrow""#, nil), (#""expires_at":null"#, nil), (#""expires_at":1e300"#, nil),
    ])
    func theServersLifetimeIsTakenWhereItIsBelievable(member: String, seconds: Double?) throws {
        for isStandard in [true, false] {
            let lifetime = try Self.read(Self.body(member), isStandard: isStandard).lifetime
            #expect(lifetime == seconds.map { .seconds($0) })
        }
    }

    @Test(arguments: [
        #""""#, #""\u001b[2J""#, #""ABCD\n1234""#, #""ABCD\u0000""#, #""é""#, #""\u200bABCD""#, #"" ABCD""#,
        #""ABCD ""#, "7", "null", #"["A"]"#, "\"\(String(repeating: "A", count: 65))\"", #""\u007f""#,
    ])
    func aUserCodeThatCannotBePrintedIsRefused(code: String) {
        for isStandard in [true, false] {
            let name = isStandard ? "device_code" : "device_auth_id"
            let body = #"{"\#(name)":"d","user_code":\#(code),"verification_uri":"https://example.com/d"}"#
            #expect(throws: ChappieAuthError.invalidResponse) { try Self.read(body, isStandard: isStandard) }
        }
    }

    @Test(arguments: ["A", String(repeating: "A", count: 64), "WDJB MJHT", "~!@#$%^&*()"])
    func aUserCodeOfPrintableCharactersIsTaken(code: String) throws {
        let body = #"{"device_auth_id":"d","user_code":"\#(code)"}"#
        #expect(try Self.read(body, isStandard: false).userCode == code)
    }

    @Test(arguments: [
        "javascript:alert(1)", "file:///etc/passwd", "ftp://example.com/", "example.com/device", "", "https://",
        "https:///device", "https://issuer.example@evil.example/", "https://example.com/\\u001b[31m",
        "https://example.com/a b", "https://exämple.com/", "https://example.com/\\u202e",
        "https://example.com/" + String(repeating: "a", count: 2_048),
    ])
    func verificationURLThatIsUnsafeForABrowserIsRefused(url: String) {
        let other = #""verification_uri":"https://example.com/d","verification_uri_complete":"\#(url)""#
        for members in [#""verification_uri":"\#(url)""#, other] {
            let body = #"{"device_code":"d","user_code":"A",\#(members)}"#
            #expect(throws: ChappieAuthError.invalidResponse) { try Self.read(body, isStandard: true) }
        }
    }

    @Test(arguments: [
        "", "{", "null", "[]", "{}", "<html>", #"{"user_code":"A","verification_uri":"https://example.com"}"#,
        #"{"device_code":"","user_code":"A","verification_uri":"https://example.com"}"#,
        #"{"device_code":7,"user_code":"A","verification_uri":"https://example.com"}"#,
        #"{"device_code":"d","verification_uri":"https://example.com"}"#, #"{"device_code":"d","user_code":"A"}"#,
    ])
    func responseWithoutCodesOrPageIsRefused(body: String) {
        #expect(throws: ChappieAuthError.invalidResponse) { try Self.read(body, isStandard: true) }
        #expect(throws: ChappieAuthError.invalidResponse) { try Self.read(body, isStandard: false) }
    }

    @Test(arguments: [true, false])
    func aDeviceCodeIsAsLongAsTheLimitAndNoLonger(isStandard: Bool) throws {
        let body = { (count: Int) in
            Self.body(#""x":1"#).replacing(#"":"d""#, with: "\":\"\(String(repeating: "d", count: count))\"")
        }
        #expect(try Self.read(body(4_096), isStandard: isStandard).deviceCode.utf8.count == 4_096)
        #expect(throws: ChappieAuthError.invalidResponse) { try Self.read(body(4_097), isStandard: isStandard) }
    }

    @Test func missingDeviceLoginIsReported() {
        #expect(throws: ChappieAuthError.unknown("Device login is not enabled for this account or workspace.")) {
            try Self.read("", isStandard: false, statusCode: 404)
        }
    }

    @Test(arguments: [(400, #"{"error":"invalid_client"}"#, "status code 400, invalid_client"), (500, "", "500)")])
    func refusalReportsItsStatusCodeAndErrorCode(statusCode: Int, body: String, words: String) {
        for isStandard in [true, false] {
            let error = #expect(throws: ChappieAuthError.self) {
                try Self.read(body, isStandard: isStandard, statusCode: statusCode)
            }
            #expect(error?.localizedDescription.contains(words) == true)
        }
    }

    @Test func refusalTextIsNotShown() {
        let body = #"{"error":"It is <secret> \u001b[31m","error_description":"long words"}"#
        let error = #expect(throws: ChappieAuthError.self) {
            try Self.read(body, isStandard: true, statusCode: 400)
        }
        #expect(error == .unknown("The authorization server gave no device code (status code 400)."))
    }

    /// A good answer in both forms, with one member more.
    private static func body(_ member: String) -> String {
        #"{"device_code":"d","device_auth_id":"d","user_code":"A","verification_uri":"https://example.com/d",\#(member)}"#
    }
}
