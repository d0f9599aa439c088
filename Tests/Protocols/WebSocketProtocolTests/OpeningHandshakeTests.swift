// Tests of OpeningHandshake, ExtensionListParser, FieldValue and Base64.

import Testing
import WebSocketProtocol

@Suite struct OpeningHandshakeTests {
    private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    private let nonce = OpeningHandshake.Nonce(high: 0x7468_6520_7361_6D70, low: 0x6C65_206E_6F6E_6365)

    private func judge(
        _ change: (inout OpeningHandshake.Response) -> Void = { _ in },
        offer: String? = nil,
        subprotocols: [String] = []
    ) -> Result<OpeningHandshake.Agreement, OpeningHandshake.Failure> {
        var response = OpeningHandshake.Response(
            statusCode: 101, upgrade: "websocket", connection: "Upgrade", accept: Self.accept)
        change(&response)
        let handshake = OpeningHandshake(nonce: self.nonce, extensionOffer: offer, subprotocols: subprotocols)
        return Result { () throws(OpeningHandshake.Failure) in
            try handshake.validate(response, expectedAccept: Self.accept)
        }
    }

    private func agreement(
        _ extensions: [WebSocketExtension] = [], subprotocol: String? = nil
    ) -> Result<OpeningHandshake.Agreement, OpeningHandshake.Failure> {
        .success(OpeningHandshake.Agreement(extensions: extensions, subprotocol: subprotocol))
    }

    // MARK: Request

    @Test func keyAndAcceptInputMatchRFC6455() {
        let handshake = OpeningHandshake(nonce: self.nonce)
        #expect(handshake.key == "dGhlIHNhbXBsZSBub25jZQ==")
        #expect(handshake.acceptInput == "dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
        let counting = OpeningHandshake.Nonce(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)
        #expect(OpeningHandshake(nonce: counting).key == "AQIDBAUGBwgJCgsMDQ4PEA==")
    }

    @Test func theRequestHasItsFields() {
        let plain = OpeningHandshake(nonce: self.nonce)
        #expect(
            plain.fields.map { "\($0.name): \($0.value)" } == [
                "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Version: 13",
            ])
        let full = OpeningHandshake(
            nonce: self.nonce, extensionOffer: "permessage-deflate; client_max_window_bits", subprotocols: ["a", "b"])
        #expect(
            full.fields.dropFirst(4).map { "\($0.name): \($0.value)" } == [
                "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits", "Sec-WebSocket-Protocol: a, b",
            ])
    }

    // MARK: Answer

    @Test func aCorrectAnswerIsAccepted() {
        #expect(self.judge() == self.agreement())
    }

    @Test(arguments: [200, 400, 401, 426, 500, 100, 0])
    func anotherStatusCodeIsAnOrdinaryResponse(statusCode: Int) {
        #expect(self.judge { $0.statusCode = statusCode } == .failure(.statusCode(statusCode)))
    }

    @Test(arguments: ["WebSocket", "WEBSOCKET", " websocket\t"])
    func theUpgradeIsComparedWithoutCase(value: String) {
        #expect(self.judge { $0.upgrade = value } == self.agreement())
    }

    @Test(arguments: ["", "websocket2", "h2c", "h2c, websocket", "web socket"])
    func anotherUpgradeIsRefused(value: String) {
        #expect(self.judge { $0.upgrade = value } == .failure(.upgradeIsNotWebSocket))
    }

    @Test(arguments: ["upgrade", "keep-alive, Upgrade", "Upgrade,keep-alive", ",, UPGRADE ,"])
    func theConnectionIsAListOfTokens(value: String) {
        #expect(self.judge { $0.connection = value } == self.agreement())
    }

    @Test(arguments: ["", "keep-alive", "upgrades", "up grade"])
    func aConnectionWithoutUpgradeIsRefused(value: String) {
        #expect(self.judge { $0.connection = value } == .failure(.connectionIsNotUpgrade))
    }

    @Test func eachMissingFieldHasItsOwnFault() {
        #expect(self.judge { $0.upgrade = nil } == .failure(.missingUpgrade))
        #expect(self.judge { $0.connection = nil } == .failure(.missingConnection))
        #expect(self.judge { $0.accept = nil } == .failure(.missingAccept))
    }

    @Test func theAcceptValueIsComparedExactly() {
        #expect(self.judge { $0.accept = " " + Self.accept + " " } == self.agreement())
        #expect(self.judge { $0.accept = Self.accept.uppercased() } == .failure(.acceptMismatch))
        #expect(self.judge { $0.accept = "" } == .failure(.acceptMismatch))
        #expect(self.judge { $0.accept = " \u{0301}\(Self.accept)" } == .failure(.acceptMismatch))
        #expect(self.judge { $0.accept = "dGhlIHNhbXBsZSBub25jZQ==" } == .failure(.acceptMismatch))
    }

    @Test func extensionsMustHaveBeenOffered() {
        let deflate = WebSocketExtension(name: "permessage-deflate", parameters: [])
        let answer = "permessage-deflate"
        #expect(self.judge({ $0.extensions = answer }, offer: "permessage-deflate; a") == self.agreement([deflate]))
        #expect(self.judge { $0.extensions = answer } == .failure(.extensionNotOffered))
        #expect(
            self.judge({ $0.extensions = answer + ", x-other" }, offer: answer) == .failure(.extensionNotOffered))
        #expect(self.judge({ $0.extensions = "" }, offer: answer) == self.agreement())
        #expect(self.judge({ $0.extensions = "a;;b" }, offer: answer) == .failure(.malformedExtensions))
    }

    @Test func theSubprotocolMustHaveBeenOffered() {
        let offer = ["chat", "superchat"]
        #expect(self.judge(subprotocols: offer) == self.agreement())
        #expect(
            self.judge({ $0.subprotocol = "superchat" }, subprotocols: offer)
                == self.agreement(subprotocol: "superchat")
        )
        for other in ["", "Chat", "other", "chat, superchat"] {
            #expect(self.judge({ $0.subprotocol = other }, subprotocols: offer) == .failure(.subprotocolNotOffered))
        }
        #expect(self.judge { $0.subprotocol = "chat" } == .failure(.subprotocolNotOffered))
    }
}

extension OpeningHandshakeTests {
    @Test func answerWithContentIsRefused() {
        #expect(self.judge { $0.announcesContent = true } == .failure(.contentAnnounced))
    }
}

@Suite struct ExtensionListParserTests {
    private func describe(_ value: String) -> String? {
        guard let list = try? ExtensionListParser.parse(value) else { return nil }
        return list.map(Self.describe).joined(separator: ",")
    }

    private static func describe(_ element: WebSocketExtension) -> String {
        let parameters = element.parameters.map { parameter in
            parameter.value.map { "\(parameter.name)=\($0)" } ?? parameter.name
        }
        return ([element.name] + parameters).joined(separator: ";")
    }

    @Test(
        arguments: [
            ("", ""), (" , ,", ""), ("foo", "foo"), ("foo; bar; baz=2", "foo;bar;baz=2"),
            ("foo;bar=\"10\" , qux", "foo;bar=10,qux"), ("foo ; bar = 3\t", "foo;bar=3"),
            ("foo;bar=\"1\\0\"", "foo;bar=10"), ("a,b;c,,d", "a,b;c,d"), ("foo;bar;bar", "foo;bar;bar"),
        ])
    func extensionListsAreParsed(value: String, expected: String) {
        #expect(self.describe(value) == expected)
    }

    @Test(
        arguments: [
            ";", "foo;", "foo;;bar", "foo;=1", "foo;bar=", "foo;bar=\"\"", "foo;bar=\"1", "foo;bar=\"", "foo bar",
            "foo;bar=\"a b\"", "foo;bar=1 2", "foo=1", "\"foo\"", "foo;bar=\"1\"2", "fóo", "foo;bar=\"1\\\"",
            "foo;bar=\"\\",
        ])
    func valuesThatBreakTheGrammarAreRefused(value: String) {
        #expect(self.describe(value) == nil)
    }

    @Test(arguments: 0..<300)
    func anyBytesAreReadOrRefused(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("ab;;,,==\"\"\\ \t".utf8)
        let bytes = (0..<20).map { _ in alphabet.randomElement(using: &random) ?? 0 }
        let value = String(decoding: bytes, as: UTF8.self)
        // What was read can be read again.
        if let described = self.describe(value) { #expect(self.describe(described) == described) }
    }
}

@Suite struct Base64Tests {
    @Test(
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func base64MatchesTheVectorsOfRFC4648(text: String, expected: String) {
        #expect(Base64.encode(Array(text.utf8)) == expected)
    }

    @Test func base64EncodesWithPlusAndSlash() {
        #expect(Base64.encode([0xFB, 0xEF, 0xFF]) == "++//")
    }
}
