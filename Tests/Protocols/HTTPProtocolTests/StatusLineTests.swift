// Tests of status lines and interim responses (RFC 9112 section 4, RFC 9110 section 15).

import HTTPProtocol
import Testing

@Suite struct StatusLineTests {
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n\r\n", 200, 1), ("HTTP/1.0 404 Not Found\r\n\r\n", 404, 0),
        ("HTTP/1.1 200\r\n\r\n", 200, 1),
        ("HTTP/1.1 200 \r\n\r\n", 200, 1), ("HTTP/1.9 299 x\n\n", 299, 9), ("HTTP/1.1 200\n\n", 200, 1),
        ("HTTP/1.1 999 \tNo such\u{e9} \r\n\r\n", 999, 1), ("HTTP/1.1 600 200 100\r\n\r\n", 600, 1),
    ])
    func statusLineGivesTheStatusCodeAndTheVersion(text: String, statusCode: Int, minorVersion: Int) {
        let response = ReadResponse.read(text)
        #expect(
            response.head
                == ResponseMessageHead(statusCode: statusCode, minorVersion: minorVersion, fields: FieldSection()))
        #expect(response.error == nil)
    }

    /// The invalid part follows the bar.
    @Test(arguments: [
        "|SSH-2.0-OpenSSH_9.6\r\n", "|\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{28}", "|<!doctype html>",
        "|220 smtp.example ESMTP",
        "|+OK ready", "|\u{0}", "| HTTP/1.1 200", "|http/1.1 200", "H|ello", "HTTP|S/1.1", "HTTP/|2.0 200",
        "HTTP/|0.9 200",
        "HTTP/1|1.1 200", "HTTP/1.|x 200", "HTTP/1.1|1 200", "HTTP/1.1|\t200", "HTTP/1.1|\r\n", "HTTP/1.1 | 200",
        "HTTP/1.1 |099", "HTTP/1.1 |000", "HTTP/1.1 |+20", "HTTP/1.1 2|\r\n", "HTTP/1.1 20|x", "HTTP/1.1 99| OK",
        "HTTP/1.1 200|0 OK", "HTTP/1.1 429|1 Too Many Digits", "HTTP/1.1 200|\tOK", "HTTP/1.1 200|OK",
        "\r|HTTP/1.1 200", "\r\n\r\n\r\n\r\n\r|\n", "\n\n\n\n|\nHTTP/1.1 200 OK\r\n\r\n", "\r\n|SSH-2.0",
    ])
    func firstByteThatIsNotHTTPIsAnError(marked: String) throws {
        let bar = try #require(marked.utf8.firstIndex(of: UInt8(ascii: "|")))
        let right = Array(marked.utf8[..<bar])
        let wrong = Array(marked.utf8[bar...].dropFirst())
        #expect(ReadResponse.read(right).error == nil)
        #expect(ReadResponse.read(right + wrong.prefix(1)).error == .notHTTP)
        #expect(ReadResponse.read(right + wrong).error == .notHTTP)
    }

    @Test(arguments: [0x00, 0x01, 0x08, 0x0B, 0x0D, 0x1B, 0x1F, 0x7F] as [UInt8])
    func reasonPhraseWithAControlCharacterIsAnError(byte: UInt8) {
        let bytes = Array("HTTP/1.1 200 O".utf8) + [byte] + Array("K\r\n\r\n".utf8)
        #expect(ReadResponse.read(bytes).error == .controlCharacter(byte))
    }

    @Test func carriageReturnBehindTheStatusCodeNeedsALineFeed() {
        #expect(ReadResponse.read("HTTP/1.1 200\rOK\r\n\r\n").error == .controlCharacter(0x0D))
        #expect(ReadResponse.read("HTTP/1.1 200\r\r\n\r\n").error == .controlCharacter(0x0D))
    }

    @Test(arguments: ["\r\n", "\n", "\r\n\r\n\r\n\r\n", "\n\r\n\n\r\n"])
    func someEmptyLinesBeforeTheStatusLineAreTolerated(emptyLines: String) {
        #expect(ReadResponse.read(emptyLines + "HTTP/1.1 204 \r\n\r\n").head?.statusCode == 204)
    }

    // MARK: Interim responses

    @Test(arguments: [100, 102, 103, 104, 110, 199])
    func interimResponseIsPassedOver(statusCode: Int) {
        let response = ReadResponse.read(
            "HTTP/1.1 \(statusCode) x\r\nX: y\r\n z\r\n\r\nHTTP/1.0 200 OK\r\nA: b\r\n\r\n")
        #expect(response.head?.statusCode == 200)
        #expect(response.head?.minorVersion == 0)
        #expect(response.fields == ["A: b"])
    }

    @Test func severalInterimResponsesArePassedOver() {
        let early = "HTTP/1.1 100\r\n\r\nHTTP/1.1 102 x\n\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        let response = ReadResponse.read(early + "\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", to: .post)
        #expect(response.fields == ["Content-Length: 2"])
        #expect(response.contentText == "ok")
    }

    @Test func interimResponseHasNoBodyWhateverItsFieldsSay() {
        let interim = "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(ReadResponse.read(interim + "HTTP/1.1 204 \r\n\r\n").head?.statusCode == 204)
        #expect(ReadResponse.read(interim + "hello").error == .notHTTP)
    }

    @Test func fieldsOfAnInterimResponseAreChecked() {
        #expect(ReadResponse.read("HTTP/1.1 100 x\r\nno field\r\n\r\n").error == .invalidFieldLine)
    }

    @Test(arguments: [RequestMethod.get, .post, .connect])
    func switchingProtocolsIsFinalOnlyWhenAnUpgradeWasAskedFor(method: RequestMethod) {
        let text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
        let accepted = ReadResponse.read(text + "\u{1}\u{2}", to: method, acceptsUpgrade: true)
        #expect(accepted.head?.statusCode == 101)
        #expect(accepted.isComplete)
        #expect(accepted.byteCount == text.utf8.count)
        #expect(ReadResponse.read(text, to: method).error == .unexpectedSwitchingProtocols)
    }

    @Test func switchingProtocolsMayFollowAnInterimResponse() {
        let response = ReadResponse.read(
            "HTTP/1.1 103 x\r\nA: b\r\n\r\nHTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n", acceptsUpgrade: true)
        #expect(response.head?.statusCode == 101)
        #expect(response.fields == ["Upgrade: websocket"])
    }
}
