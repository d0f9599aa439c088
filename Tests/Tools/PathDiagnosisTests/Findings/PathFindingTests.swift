// The table of the faults.
import Testing

@testable import PathDiagnosis

@Suite struct PathFindingTests {
    @Test(arguments: PathFinding.allCases) func everyFindingHasAClauseAndRemedies(_ finding: PathFinding) {
        let row = finding.row
        #expect(!row.clause.isEmpty && !row.clause.hasSuffix("."))
        #expect(row.clause.first?.isUppercase != true || row.clause.hasPrefix("IPv") || row.clause.hasPrefix("HTTP"))
        #expect(!row.remedies.isEmpty)
        #expect(row.remedies.allSatisfy { $0.hasSuffix(".") })
    }

    /// `compression.broken` is of the step `compression`; a name of two words has a hyphen.
    @Test(arguments: PathFinding.allCases) func theNameBeginsWithTheLayer(_ finding: PathFinding) {
        let layer = finding.rawValue.prefix { $0 != "." }.replacing("-", with: "").lowercased()
        #expect(finding.row.step.rawValue.lowercased() == layer)
    }

    @Test(arguments: [
        "CN=mitmproxy,O=mitmproxy", "CN=FortiGate CA,O=Fortinet,C=US", "CN=Corp SSL Inspection CA", "CN=Web Proxy Root",
        "CN=Zscaler Root CA,O=Zscaler Inc.", "CN=Cisco Umbrella Root CA,O=Cisco",
    ])
    func authoritiesOfDevicesAreRecognized(issuer: String) { #expect(InspectionAuthority.hasShape(issuer)) }

    @Test(arguments: [
        "CN=R3,O=Let's Encrypt,C=US", "CN=DigiCert TLS RSA SHA256 2020 CA1,O=DigiCert Inc,C=US",
        "CN=GTS CA 1C3,O=Google Trust Services LLC,C=US", "CN=Amazon RSA 2048 M02,O=Amazon,C=US", "CN=Our own CA",
        "CN=Sectigo RSA Domain Validation Secure Server CA,O=Sectigo Limited,L=Salford,C=GB",
        "CN=Entrust Certification Authority - L1K,O=Entrust\\, Inc.,C=US",
        "CN=Go Daddy Secure Certificate Authority - G2,O=GoDaddy.com\\, Inc.,C=US",
    ])
    func publicAuthoritiesAreNotTakenForDevices(issuer: String) { #expect(!InspectionAuthority.hasShape(issuer)) }

    @Test(
        arguments: [
            (38, "38 ms"), (999, "999 ms"), (1_000, "1.0 s"), (2_440, "2.4 s"), (31_000, "31 s"), (720_000, "12 min"),
            (86_400_000, "24 h"), (864_000_000, "10 days"),
        ])
    func durationsAreRoundedToShortTexts(milliseconds: Int, words: String) {
        #expect(Duration.milliseconds(milliseconds).words == words)
    }

    @Test func shortTimesAreNotZero() {
        #expect(Duration.microseconds(499).words == "under 1 ms")
        #expect(Duration.microseconds(501).words == "1 ms")
        #expect(Duration.zero.words == "0 ms")
    }

    @Test func percentilesAreThoseOfTheMeasuredValues() {
        let facts = PingFacts(sentCount: 10, roundTrips: (1...10).reversed().map { .milliseconds($0) })
        #expect(facts.roundTrip(at: 0.5) == .milliseconds(5))
        #expect(facts.roundTrip(at: 0.9) == .milliseconds(9))
        #expect(PingFacts(sentCount: 1, roundTrips: []).roundTrip(at: 0.5) == nil)
    }
}

@Suite struct EventPacingTests {
    private static func arrivals(_ times: [(sent: Int, received: Int)]) -> [EventStreamFacts.Arrival] {
        times.enumerated().map { index, time in
            .init(
                sent: .milliseconds(time.sent), received: .milliseconds(time.received), byteCount: 100 * (index + 1))
        }
    }

    @Test func eventsAtTheirPaceAreNotBuffered() throws {
        let pacing = try #require(EventPacing(Self.arrivals([(0, 50), (100, 152), (200, 249), (300, 351)])))
        #expect(!pacing.isBuffered() && !pacing.isWhole)
        #expect(pacing.heldByteCount == 0)
    }

    @Test func heldByteCountIsThatOfTheLargestHeldRun() throws {
        let pacing = try #require(
            EventPacing(Self.arrivals([(0, 1_100), (500, 1_100), (1_000, 1_100), (1_500, 2_600), (2_000, 2_600)])))
        #expect(pacing.isBuffered() && !pacing.isWhole)
        #expect(pacing.heldByteCount == 300)
        #expect(pacing.lateness == .milliseconds(1_000))
    }

    @Test func aStreamThatArrivesAtOnceIsHeldBackWhole() throws {
        let pacing = try #require(EventPacing(Self.arrivals([(0, 3_000), (1_000, 3_001), (2_000, 3_001)])))
        #expect(pacing.isBuffered() && pacing.isWhole)
        #expect(pacing.heldByteCount == 300)
    }

    @Test func pacingIsUnknownForFewEvents() {
        #expect(EventPacing(Self.arrivals([(0, 0), (100, 100)])) == nil)
        #expect(EventPacing(Self.arrivals([(0, 0), (0, 5), (0, 9)])) == nil)
    }
}
