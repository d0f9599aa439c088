// The facts that a probe server has seen of a request, beside the request.
import PathDiagnosis
import Testing

@Suite struct SeenFactsTests {
    private static func result(
        _ seen: HTTPFacts.Seen, _ change: (inout PathFacts) -> Void = { _ in }
    ) -> ChappieDiagnosis.StepResult? {
        let facts = PathFacts.probed.with {
            $0.http = .found(.init(.answered(.init(statusCode: 200)), seen: seen))
            change(&$0)
        }
        return PathJudge(facts).report.result(of: .http)
    }

    private static func seen(_ security: HTTPFacts.Seen.Security, family: String? = "IPv4") -> HTTPFacts.Seen {
        var seen = HTTPFacts.Seen(sent: [], received: [])
        seen.add(family: family, httpVersion: "1.1", security: security)
        return seen
    }

    private static func tls(_ version: String) -> HTTPFacts.Seen.Security {
        .tls(version: version, cipherSuite: nil, hello: nil)
    }

    @Test func fieldsThatWereAddedAndRemovedAreNamed() {
        let seen = HTTPFacts.Seen(sent: ["Host", "Accept", "X-A"], received: ["host", "accept", "via"])
        #expect(seen.added == ["via"] && seen.removed == ["x-a"])
        #expect(
            Self.result(seen)?.words
                == "status code 200, a probe server, added on the way: via, removed on the way: x-a")
    }

    @Test(arguments: ["IPv4", "IPv6"]) func theConnectionIsDescribed(family: String) {
        let result = Self.result(Self.seen(Self.tls("TLSv1.3"), family: family))
        #expect(result?.words == "status code 200, a probe server that saw \(family), HTTP/1.1, TLSv1.3")
        #expect(result?.fullWords == [])
    }

    @Test func theDetailsOfTLSAreInTheFullWords() {
        let seen = Self.seen(.tls(version: "TLSv1.3", cipherSuite: "TLS_AES_256_GCM_SHA384", hello: "00ff00ff00ff00ff"))
        let words = ["the probe server saw TLSv1.3, with TLS_AES_256_GCM_SHA384, client hello 00ff00ff00ff00ff"]
        #expect(Self.result(seen)?.fullWords == words)
        #expect(Self.result(seen)?.words.contains("AES") == false)
    }

    /// The version of the examination's own TLS is 1.3 with TLS, and none without.
    @Test(
        arguments: [
            (Self.tls("TLSv1.2"), true, ", TLSv1.2 instead of TLSv1.3"), (.none, true, ", no TLS: it ends on the way"),
            (Self.tls("TLSv1.3"), false, ", TLSv1.3, which begins on the way"), (.none, false, ""),
            (.unknown, true, ""),
        ] as [(HTTPFacts.Seen.Security, Bool, String)])
    func differentTLSAtBothEndsIsReported(security: HTTPFacts.Seen.Security, isSecure: Bool, words: String) {
        let result = Self.result(Self.seen(security)) { if !isSecure { $0.tls = .skipped(.noTLS) } }
        #expect(result?.words == "status code 200, a probe server that saw IPv4, HTTP/1.1\(words)")
        #expect(result?.outcome == .ok)
    }

    /// A middle box may write the answer: it prints no address, no control character and no sentence.
    @Test(arguments: [
        "192.0.2.1:80", "192.0.2.1", "a b", "x\u{1B}[2J", "", String(repeating: "a", count: 65), "käse", "fe80::1",
    ])
    func invalidTextsOfTheProbeAnswerAreOmitted(text: String) {
        var seen = HTTPFacts.Seen(sent: [], received: [text])
        seen.add(family: text, httpVersion: text, security: Self.tls(text))
        #expect(seen.added.isEmpty && seen.family == nil && seen.httpVersion == nil && seen.security == .unknown)
        seen.add(
            family: nil, httpVersion: nil,
            security: .tls(version: "TLSv1.3", cipherSuite: text, hello: text))
        #expect(seen.security == Self.tls("TLSv1.3"))
    }
}
