// TLS that is cut, changed or ended where it should not be, byte for byte.

import CLibwebsocketsShim
import Testing

@testable import LibwebsocketsTransport

@Suite struct TLSLayerTests {
    /// An open connection, whose tickets have been given away.
    private static func open(_ version: TLSVersion) throws -> TLSPair {
        let pair = try TLSPair(version)
        pair.finish()
        try #require(pair.state == .open && pair.isServerOpen)
        return pair
    }

    // MARK: Cuts

    @Test(arguments: TLSVersion.allCases)
    func splittingTheServersFlightsOpensTheConnection(_ version: TLSVersion) throws {
        let (server, client) = try Self.parties(version)
        var cut = 0
        var flightLimit = 1
        while cut <= flightLimit {
            let pair = try TLSPair(server, client)
            while !pair.fromClient.isEmpty {
                let flight = pair.exchange()
                let isFirst = pair.state == .handshaking && !pair.isServerOpen
                if isFirst { flightLimit = max(flightLimit, flight.count) }
                pair.receive(flight.prefix(cut))
                if isFirst, cut < flight.count { #expect(pair.state == .handshaking, "\(cut)") }
                pair.receive(flight.dropFirst(cut))
            }
            #expect(pair.state == .open, "\(cut)")
            cut += 1
        }
        let pair = try TLSPair(server, client)
        while !pair.fromClient.isEmpty { for byte in pair.exchange() { pair.receive([byte]) } }
        #expect(pair.passesText())
    }

    private static func parties(_ version: TLSVersion) throws -> (server: MemoryServer, client: MemoryClient) {
        let server = try MemoryServer(version)
        return (server, try MemoryClient(trusting: server))
    }

    /// Every whole record is delivered, and only close_notify is an orderly end (RFC 8446 section 6.1).
    @Test(arguments: TLSVersion.allCases)
    func cutDataIsDeliveredUpToItsLastWholeRecord(_ version: TLSVersion) throws {
        let (server, client) = try Self.parties(version)
        let records = ["first", "second", ""]
        var count = 0
        var byteCount = 1
        while count <= byteCount {
            let pair = try TLSPair(server, client)
            pair.finish()
            let bytes = pair.serve("first") + pair.serve("second") + pair.end()
            let ends = recordEnds(in: bytes)
            try #require(ends.count == records.count)
            byteCount = bytes.count
            pair.receive(bytes.prefix(count))
            let whole = zip(records, ends).filter { $0.1 <= count }.map(\.0).joined()
            #expect(pair.plaintext == Array(whole.utf8), "\(count)")
            #expect(pair.state == (count == byteCount ? .ended : .open), "\(count)")
            pair.receive(bytes.dropFirst(count))
            #expect(pair.plaintext == Array("firstsecond".utf8), "\(count)")
            #expect(pair.state == .ended, "\(count)")
            count += 1
        }
    }

    @Test(arguments: TLSVersion.allCases)
    func bytesBehindTheEndAreNotRead(_ version: TLSVersion) throws {
        let other = try Self.open(version)
        for rest in [other.serve("x"), [21, 3, 3, 0, 2, 2, 40], Array("HTTP/1.1 200 OK\r\n\r\n".utf8)] {
            let pair = try Self.open(version)
            pair.receive(pair.serve("text") + pair.end() + rest)
            #expect(pair.plaintext == Array("text".utf8))
            #expect(pair.state == .ended)
            pair.receive(rest)
            #expect(pair.plaintext == Array("text".utf8))
        }
    }

    // MARK: Changes

    @Test(arguments: TLSVersion.allCases)
    func changedByteInTheServersFlightNeverOpensTheConnection(_ version: TLSVersion) throws {
        let (server, client) = try Self.parties(version)
        var index = 0
        var flightLimit = 1
        while index < flightLimit {
            let pair = try TLSPair(server, client)
            var flight = pair.exchange()
            flightLimit = flight.count
            let ends = [0] + recordEnds(in: flight)
            // The header of a record is not protected in TLS 1.2, and is not part of the handshake.
            if !ends.contains(where: { $0..<($0 + 5) ~= index }) {
                flight[index] ^= 1
                pair.receive(flight)
                pair.finish()
                #expect(pair.state != .open, "\(index)")
                #expect(pair.plaintext.isEmpty)
            }
            index += 1
        }
    }

    @Test(arguments: TLSVersion.allCases)
    func changedByteInARecordFailsBehindTheRecordsBeforeIt(_ version: TLSVersion) throws {
        let (server, client) = try Self.parties(version)
        var index = 5
        var byteCount = 6
        while index < byteCount {
            let pair = try TLSPair(server, client)
            pair.finish()
            let whole = pair.serve("whole")
            var changed = pair.serve("changed")
            byteCount = changed.count
            changed[index] ^= 1
            pair.receive(whole + changed + pair.serve("behind"))
            #expect(pair.plaintext == Array("whole".utf8), "\(index)")
            #expect(pair.state == .failed, "\(index)")
            // bad_record_mac
            #expect(pair.alert == 20, "\(index)")
            index += 1
        }
    }

    // MARK: Alerts

    private static func record(ofAlert alert: UInt8, level: UInt8 = 2) -> [UInt8] { [21, 3, 3, 0, 2, level, alert] }

    @Test(arguments: TLSVersion.allCases, [10, 40, 47, 70, 71, 80, 86, 112, 116, 120, 200] as [UInt8])
    func fatalAlertInsteadOfAnAnswerIsNamed(_ version: TLSVersion, alert: UInt8) throws {
        let pair = try TLSPair(version)
        pair.receive(Self.record(ofAlert: alert))
        #expect(pair.state == .failed)
        #expect(pair.alert == CInt(alert))
        pair.receive(pair.exchange())
        #expect(pair.state == .failed)
    }

    @Test(arguments: TLSVersion.allCases)
    func fatalAlertBehindAnyRecordOfTheHandshakeFailsIt(_ version: TLSVersion) throws {
        let (server, client) = try Self.parties(version)
        var place = 0
        var placeLimit = 1
        while place < placeLimit {
            let pair = try TLSPair(server, client)
            let flight = pair.exchange()
            let ends = [0] + recordEnds(in: flight)
            // Behind the last one TLS 1.3 is open for the client.
            placeLimit = ends.count - (version == .version13 ? 1 : 0)
            pair.receive(flight[..<ends[place]] + Self.record(ofAlert: 40) + flight[ends[place]...])
            #expect(pair.state == .failed, "\(place)")
            #expect(pair.plaintext.isEmpty)
            place += 1
        }
    }

    @Test(arguments: TLSVersion.allCases)
    func endlessWarningsFailTheHandshake(_ version: TLSVersion) throws {
        let pair = try TLSPair(version)
        for _ in 0..<100 where pair.state == .handshaking { pair.receive(Self.record(ofAlert: 90, level: 1)) }
        #expect(pair.state == .failed)
    }

    @Test(arguments: TLSVersion.allCases, ["", "text"])
    func fatalAlertInTheDataLeavesWhatCameBefore(_ version: TLSVersion, text: String) throws {
        let (server, client) = try Self.parties(version)
        let pair = try TLSPair(server, client)
        pair.finish()
        pair.receive((text.isEmpty ? [] : pair.serve(text)) + pair.sendAlert())
        #expect(pair.plaintext == Array(text.utf8))
        #expect(pair.state == .failed)
        #expect(pair.alert == 20)
    }

    // MARK: Handshakes behind the first one

    /// RFC 5246 section 7.4.1.1: a client may answer with no_renegotiation.
    @Test func requestForRenegotiationIsDeclined() throws {
        let pair = try Self.open(.version12)
        let request = pair.requestRenegotiation()
        try #require(!request.isEmpty)
        pair.receive(request)
        #expect(pair.state == .open)
        // One record, and an alert: no handshake begins.
        #expect(recordEnds(in: pair.fromClient) == [pair.fromClient.count])
        #expect(pair.fromClient.first == 21)
        pair.receive(pair.serve("behind"))
        #expect(pair.plaintext == Array("behind".utf8))
        _ = pair.exchange()
        #expect(pair.serverReceivedAlert == 100)
    }

    /// Requests are answered as far as the room for answers goes, which is some thousands of them.
    @Test func endlessRequestsForRenegotiationAreSurvived() throws {
        let pair = try Self.open(.version12)
        var requests: [UInt8] = []
        while requests.count < 200_000 {
            let request = pair.requestRenegotiation()
            try #require(!request.isEmpty)
            requests += request
        }
        pair.receive(requests + pair.serve("behind"))
        #expect(pair.state == .open)
        #expect(pair.plaintext == Array("behind".utf8))
        #expect(recordEnds(in: pair.fromClient).count > 1_000)
    }

    /// RFC 8446 section 4.6.3: new keys are announced before the next data.
    @Test func requestForNewKeysIsAnsweredWithTheNextData() throws {
        let pair = try Self.open(.version13)
        for _ in 0..<3 {
            let request = pair.requestKeyUpdate()
            try #require(!request.isEmpty)
            pair.receive(request)
            pair.send("text")
            #expect(recordEnds(in: pair.fromClient).count == 2)
            pair.receive(pair.exchange())
            #expect(pair.passesText())
        }
    }

    @Test func endlessRequestsForNewKeysFail() throws {
        let pair = try Self.open(.version13)
        var requests: [UInt8] = []
        while requests.count < 200_000 {
            let request = pair.requestKeyUpdate()
            try #require(!request.isEmpty)
            requests += request
        }
        pair.receive(requests)
        #expect(pair.state == .failed)
    }

    // MARK: Certificates

    /// The server of these tests has signed its certificate itself, for a day.
    @Test(arguments: TLSVersion.allCases, [true, false])
    func theCertificatesOfTheServerAreReported(_ version: TLSVersion, isTrusted: Bool) throws {
        let server = try MemoryServer(version)
        let pair = try TLSPair(server, try MemoryClient(trusting: isTrusted ? server : MemoryServer(version)))
        #expect(pair.client.certificates.isEmpty)
        pair.finish()
        #expect(pair.state == (isTrusted ? .open : .failed))
        let certificates = pair.client.certificates
        #expect(certificates.map(\.subject) == ["CN=memory"] && certificates.map(\.issuer) == ["CN=memory"])
        #expect(certificates.allSatisfy { (.seconds(23 * 3_600)...(.seconds(24 * 3_600))).contains($0.timeLeft) })
        #expect(certificates.allSatisfy { !$0.locatesIssuer })
        #expect(pair.client.details.certificate_depth == 0)
    }

    /// A server without TLS answers in its own protocol.
    @Test(arguments: [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", true), ("HTTP/1.0 400 Bad Request\r\n", true),
        ("220 mail.test ESMTP ready\r\n", false), ("HTTP:1.1 400\r\n", false),
    ])
    func anAnswerInHTTPIsReported(text: String, isInHTTP: Bool) throws {
        let pair = try TLSPair(.version13)
        #expect(!pair.client.details.is_answered_in_http)
        pair.receive(Array(text.utf8))
        #expect(pair.state == .failed)
        #expect(pair.client.details.is_answered_in_http == isInHTTP)
        #expect(pair.client.details.is_not_tls)
    }

    /// One byte of another protocol is enough, and a record may come in pieces.
    @Test(arguments: TLSVersion.allCases) func theFirstBytesOfAnAnswerTellItsProtocol(_ version: TLSVersion) throws {
        let other = try TLSPair(version)
        other.receive([UInt8(ascii: "S")])
        #expect(other.client.details.is_not_tls && other.state == .handshaking)
        let pair = try TLSPair(version)
        for byte in pair.exchange() { pair.receive([byte]) }
        #expect(!pair.client.details.is_not_tls && pair.state != .failed)
    }

    /// close_notify, a warning, ends the handshake before it is complete.
    @Test(arguments: TLSVersion.allCases) func theEndOfDataEndsNoHandshake(_ version: TLSVersion) throws {
        let pair = try TLSPair(version)
        pair.receive([0x15, 0x03, 0x03, 0x00, 0x02, 0x01, 0x00])
        #expect(pair.state == .failed)
        #expect(pair.alert == 0)
    }

    /// A fatal alert handshake_failure, and bytes after which this side sends one.
    @Test(
        arguments: [
            ([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28], true), ([0x17, 0x03, 0x03, 0x00, 0x01, 0x00], false),
        ] as [([UInt8], Bool)])
    func theSenderOfAnAlertIsReported(bytes: [UInt8], isReceived: Bool) throws {
        let pair = try TLSPair(.version13)
        pair.receive(bytes)
        #expect(pair.state == .failed && pair.alert != 0)
        #expect(pair.client.details.is_alert_received == isReceived)
        #expect(!pair.client.details.is_not_tls)
    }

    // MARK: Resumption

    /// A resumed handshake has no certificate: that of the first one counts (RFC 8446 section 2.2).
    @Test(arguments: TLSVersion.allCases)
    func sessionOutlivesAChangeOfTheCertificate(_ version: TLSVersion) throws {
        let server = try MemoryServer(version, hasSessions: true)
        let client = try MemoryClient(trusting: server)
        for isResumed in [false, true] {
            let pair = try TLSPair(server, client)
            pair.finish()
            #expect(pair.client.isResumed == isResumed)
            #expect(pair.passesText())
            try server.changeCertificate()
        }
        // Without a session the new one is looked at.
        let pair = try TLSPair(server, try MemoryClient(trusting: MemoryServer(version)))
        pair.finish()
        #expect(pair.state == .failed)
    }

    /// A session establishes no trust in a server that does not resume it.
    @Test(arguments: TLSVersion.allCases, [true, false])
    func serverThatDoesNotResumeIsVerifiedLikeAnyOther(_ version: TLSVersion, isTrusted: Bool) throws {
        let server = try MemoryServer(version, hasSessions: true)
        let other = try MemoryServer(version, name: isTrusted ? "other.test" : "origin.test", hasSessions: true)
        let client = try isTrusted ? MemoryClient(trusting: server, other) : MemoryClient(trusting: server)
        let first = try TLSPair(server, client)
        first.finish()
        try #require(first.state == .open)
        let second = try TLSPair(other, client)
        second.finish()
        #expect(second.state == .failed)
        #expect(!second.client.isResumed)
        #expect(second.plaintext.isEmpty)
        // 62 is a name that does not match, 18 a certificate that has signed itself.
        #expect(second.client.details.certificate_code == (isTrusted ? 62 : 18))
    }
}
