// The ends of TLS handshakes with servers that have none, or refuse: the finding, its evidence and its remedies.
import PathDiagnosis
import Testing

@Suite struct HandshakeEndTests {
    private static func cause(_ handshake: TLSFacts.Handshake) -> ChappieDiagnosis.Cause? {
        PathJudge(.tls(handshake)).report.causes.first
    }

    @Test(
        arguments: [
            (.notTLS, "tls.not-tls", "the answer is not TLS"),
            (.closed, "tls.cut", "closed by the peer, without an alert"), (.reset, "tls.cut", "reset"),
            (.cut, "tls.cut", "cut"), (.timedOut, "tls.no-answer", "no answer in time"),
            (.answeredInHTTP, "tls.plain-http", "answered in plain HTTP"),
        ] as [(TLSFacts.Handshake, String, String)])
    func handshakeEndDeterminesCauseAndEvidence(handshake: TLSFacts.Handshake, name: String, evidence: String) {
        let cause = Self.cause(handshake)
        #expect(cause?.name == name)
        #expect(cause?.evidence == [evidence])
        // A port without TLS may end it in each of these ways.
        #expect(cause?.remedies.contains { $0.contains("the base URL begins with http.") } == true)
    }

    @Test(
        arguments: [
            (40, "alert 40: no cipher suite in common, or a client certificate is demanded"),
            (70, "alert 70: the server speaks other versions of TLS"),
            (112, "alert 112: the server does not know the name in the base URL"),
            (116, "alert 116: about the client's certificate"),
            (120, "alert 120: the server does not speak HTTP/1.1 on this port"), (86, "alert 86"),
        ] as [(UInt8, String)])
    func tlsAlertIsExplainedInTheEvidence(code: UInt8, evidence: String) {
        #expect(Self.cause(.alert(code))?.name == "tls.refused")
        #expect(Self.cause(.alert(code))?.evidence == [evidence])
    }
}
