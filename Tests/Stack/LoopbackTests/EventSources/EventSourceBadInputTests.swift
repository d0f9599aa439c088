import ChappieTestServer
import EventSource
import Foundation
import StreamTransport
import Testing

/// Bad input from servers: each fault has an error of its own, and the events before it are delivered.
@Suite(.timeLimit(.minutes(10))) struct EventSourceBadInputTests {
    /// Creates an event source with the limit of `BadAnswer`.
    private static func source(
        _ server: RawServer, _ change: (inout EventSourceConfiguration) -> Void = { _ in }
    ) throws -> EventSource {
        EventSource.loopback(try server.eventsURL) {
            $0.limits.eventByteCount = BadAnswer.eventByteCount
            change(&$0)
        }
    }

    /// Answers the next request; the client may read a part of the answer only.
    private static func write(_ answer: BadAnswer, to server: RawServer) async throws -> RawPeer {
        let peer = try await server.request().peer
        await DispatchQueue.global().blocking { peer.write(answer.bytes) }
        if answer.endsConnection { peer.close() }
        return peer
    }

    // MARK: Every fault

    @Test(arguments: BadAnswer.all)
    func badAnswerIsAnErrorBehindItsEvents(_ answer: BadAnswer) async throws {
        let server = try RawServer()
        let source = try Self.source(server) { $0.reconnection = .never }
        let outcome = source.reading()
        let peer = try await Self.write(answer, to: server)
        let result = await outcome.value
        #expect(result.data == answer.data)
        let error = try #require(result.error as? EventSourceError)
        guard case .transport(let failure) = error else {
            Issue.record("another error: \(error)")
            return
        }
        #expect(error.tag == answer.tag)
        #expect(error.category == answer.category)
        #expect(failure.attempts == 1)
        #expect(source.report.attempts.map(\.outcome) == [answer.tag])
        #expect(source.readyState == .closed)
        // The client has closed its connection, although the server has not.
        if !answer.endsConnection { _ = await peer.readToEnd() }
    }

    @Test(arguments: BadAnswer.all)
    func requestIsRepeatedBehindABadAnswerUnlessThatIsFutile(_ answer: BadAnswer) async throws {
        var server: RawServer? = try RawServer()
        let source = try Self.source(#require(server)) { $0.reconnection.maximumAttempts = 1 }
        let outcome = source.reading()
        let peer = try await Self.write(answer, to: #require(server))
        if answer.isFutile {
            // Another connection would be refused, and so end the event source.
            server = nil
            #expect(await outcome.value.tag == answer.tag)
            #expect(source.report.attempts.map(\.outcome) == [answer.tag])
        } else {
            let next = try await #require(server).request()
            #expect(next.value(of: "Last-Event-ID") == (answer.data.isEmpty ? nil : "1"))
            next.answer("204 No Content")
            let result = await outcome.value
            #expect(result.data == answer.data)
            #expect(result.error == nil)
            #expect(source.report.attempts.map(\.outcome) == [answer.tag, "ended"])
        }
        withExtendedLifetime(peer) {}
    }

    // MARK: Limits

    @Test func gzipBombIsInflatedAsFarAsTheLimit() async throws {
        let server = try RawServer()
        let source = try Self.source(server)
        let outcome = source.reading()
        let peer = try await Self.write(.bomb, to: server)
        guard case .transport(let failure) = await outcome.value.error as? EventSourceError else {
            Issue.record("no failure")
            return
        }
        #expect(failure.code == .eventTooLarge)
        #expect(failure.details.limit == BadAnswer.eventByteCount)
        // The content is inflated in pieces of 64 KiB; bytes that were received and not inflated count as they are.
        let attempt = try #require(source.report.attempts.first)
        let inflated = try #require(attempt.inflatedByteCount)
        #expect(inflated <= attempt.receivedByteCount + BadAnswer.eventByteCount + 128 << 10)
        withExtendedLifetime(peer) {}
    }

    /// The server has 16 GiB for it.
    @Test func lineOfDataThatNeverEndsIsReadAsFarAsTheLimit() async throws {
        let server = try RawServer()
        let highWatermark = 64 << 10
        let source = try Self.source(server) {
            $0.limits.highWatermark = highWatermark
            $0.limits.lowWatermark = 16 << 10
        }
        let outcome = source.reading()
        let request = try await server.request()
        request.openStream("\(BadAnswer.event)data: ")
        let writing = request.peer.writeInBackground(byteCount: 1 << 34)
        let result = await outcome.value
        #expect(result.data == ["a"])
        #expect(result.tag == "event.too-large")
        // A read exceeds the watermark by 64 KiB at most. That much may be in the piece with which the limit is exceeded,
        // and as much again may arrive while it is parsed; the pieces before it were within the limit.
        let unreadByteCount = highWatermark + 64 << 10
        let parsedByteCount = BadAnswer.event.utf8.count + "data: ".utf8.count + BadAnswer.eventByteCount
        let received = try #require(source.report.attempts.first).receivedByteCount
        #expect(received <= parsedByteCount + 2 * unreadByteCount)
        await writing.value
    }

    @Test(arguments: [0, 1])
    func eventUpToTheLimitIsDelivered(_ spare: Int) async throws {
        let server = try RawServer()
        let outcome = try Self.source(server) { $0.reconnection = .never }.reading()
        let data = String(repeating: "x", count: BadAnswer.eventByteCount - "type".utf8.count - spare)
        try await server.request().stream("event: type\ndata: \(data)\n\n")
        let result = await outcome.value
        #expect(result.data == [data])
        #expect(result.error == nil)
    }

    /// Their bytes belong to no event, and are not kept.
    @Test(arguments: [":", "color: ", "retry: ", "datax"])
    func ignoredLineMayBeLongerThanTheLimit(_ start: String) async throws {
        let server = try RawServer()
        let outcome = try Self.source(server) { $0.reconnection = .never }.reading()
        let peer = try await server.request().peer
        let line = start + String(repeating: "x", count: 64 * BadAnswer.eventByteCount)
        let text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\(line)\n\(BadAnswer.event)"
        await DispatchQueue.global().blocking { peer.write(text) }
        peer.close()
        let result = await outcome.value
        #expect(result.data == ["a"])
        #expect(result.error == nil)
    }

    // MARK: Invalid UTF-8 (WHATWG Encoding section 4.8.1)

    /// Bytes, and their text: each maximal subpart of a character is one U+FFFD.
    static let invalidBytes: [(bytes: [UInt8], text: String)] = [
        ([0xFF], "\u{FFFD}"), ([0x61, 0x80, 0x62], "a\u{FFFD}b"), ([0xC0, 0xAF], "\u{FFFD}\u{FFFD}"),
        ([0xE2, 0x82], "\u{FFFD}"), ([0xE2, 0x82, 0x61], "\u{FFFD}a"), ([0xF0, 0x9F, 0x92], "\u{FFFD}"),
        // A surrogate, a code point above U+10FFFF, and an overlong form.
        ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
        ([0xF4, 0x90, 0x80, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
        ([0xE0, 0x80, 0xAF], "\u{FFFD}\u{FFFD}\u{FFFD}"), ([0xC3, 0xC3, 0xBC], "\u{FFFD}ü"),
    ]

    @Test(arguments: Self.invalidBytes.indices, [false, true])
    func invalidUTF8IsReplaced(_ index: Int, isInPieces: Bool) async throws {
        let (bytes, text) = Self.invalidBytes[index]
        let server = try RawServer()
        let outcome = try Self.source(server).reading()
        let request = try await server.request()
        request.openStream()
        let parts = ["id: ", "\nevent: ", "\ndata: ", "\ndata: "].map { Array($0.utf8) + bytes }
        let stream = parts.flatMap(\.self) + Array("\n\ndata: b\n\n".utf8)
        for piece in isInPieces ? stream.map({ [$0] }) : [stream] { request.peer.write(piece) }
        request.peer.close()
        let next = try await server.request()
        #expect(next.value(of: "Last-Event-ID") == text)
        next.answer("204 No Content")
        let result = await outcome.value
        #expect(
            result.events == [
                ServerSentEvent(type: text, data: "\(text)\n\(text)", lastEventID: text),
                ServerSentEvent(data: "b", lastEventID: text),
            ])
        #expect(result.error == nil)
    }

    // MARK: Redirects

    @Test(arguments: [301, 302, 303, 307, 308])
    func redirectFromHTTPSToHTTPIsNotFollowed(_ statusCode: Int) async throws {
        let plain = try RawServer()
        let location = ChappieTestServer.Field(
            name: "Location", value: "http://127.0.0.1:\(plain.port)/v1/responses")
        let tls = try TLSServer(faults: [.init(.answer(status: statusCode, fields: [location], body: ""))])
        defer { tls.server.stop() }
        var wish = EventSourceRequest(
            url: try #require(URL(string: "https://127.0.0.1:\(tls.server.port)/v1/responses")))
        wish.method = "POST"
        wish.fields = [("Content-Type", "application/json"), ("Authorization", "Bearer secret")]
        wish.body = Array(#"{"model":"m","input":[],"stream":true}"#.utf8)
        let source = EventSource.loopback(wish) { $0.tls.trust = .file(path: tls.trustPath) }
        let error = try #require(await source.reading().value.error as? EventSourceError)
        #expect(error == .redirect(.insecure, statusCode: statusCode))
        #expect(error.tag == "redirect.insecure")
        #expect(error.category == .server)
        #expect(error.requiresUserAction)
        #expect(!plain.hasConnection)
        #expect(source.report.attemptCount == 1)
    }
}
