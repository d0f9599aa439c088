// The certificates that a server has sent: what is missing, which one was rejected, and what is told of them.
import PathDiagnosis
import Testing

@Suite struct CertificateChainTests {
    private static let day = Duration.seconds(86_400)
    private static let issuer = "CN=Example Intermediate"

    private static func report(
        _ handshake: TLSFacts.Handshake, _ chain: CertificateChain?
    ) -> ChappieDiagnosis.Report { PathJudge(.tls(handshake, chain: chain)).report }

    private static func name(
        _ fault: CertificateFault, _ sent: [CertificateChain.Certificate], depth: Int = 0,
        issuer: String = CertificateChainTests.issuer
    ) -> String? {
        Self.report(.certificate(fault, issuer: issuer), .init(sent, rejectedDepth: depth)).causes.first?.name
    }

    // MARK: Missing certificates

    @Test func anIntermediateThatIsNotSentIsNamed() {
        let report = Self.report(
            .certificate(.unknownIssuer, issuer: Self.issuer), .init([.ofServer], rejectedDepth: 0))
        #expect(report.causes.map(\.name) == ["tls.incomplete-chain"])
        #expect(
            report.causes.first?.evidence == [
                "its issuer is not known (issuer: CN=Example Intermediate)",
                "the server sent 1 certificate, and none of that issuer",
            ])
        #expect(report.advice.variables == ["SSL_CERT_FILE"])
    }

    @Test func anUnrelatedCertificateDoesNotCompleteTheChain() {
        var other = CertificateChain.Certificate.intermediate
        other.subject = "CN=Another Intermediate"
        #expect(Self.name(.unknownIssuer, [.ofServer, other]) == "tls.incomplete-chain")
    }

    /// An unknown root is no fault of the server: roots are seldom sent.
    @Test func aChainWithItsIntermediateHasAnUnknownAuthority() {
        #expect(Self.name(.unknownIssuer, [.ofServer, .intermediate], depth: 1) == "tls.unknown-issuer")
        #expect(Self.name(.unknownIssuer, [.intermediate, .ofServer], depth: 1) == "tls.unknown-issuer")
    }

    /// A private authority signs the certificates of servers itself, and one that has signed itself has no other.
    @Test func aPrivateAuthorityIsNoMissingIntermediate() {
        var own = CertificateChain.Certificate.ofServer
        own.locatesIssuer = false
        #expect(Self.name(.unknownIssuer, [own]) == "tls.unknown-issuer")
        own.locatesIssuer = true
        own.issuer = own.subject
        #expect(Self.name(.unknownIssuer, [own]) == "tls.unknown-issuer")
        #expect(Self.name(.unknownIssuer, []) == "tls.unknown-issuer")
        let report = Self.report(.certificate(.unknownIssuer, issuer: Self.issuer), nil)
        #expect(report.causes.map(\.name) == ["tls.unknown-issuer"])
    }

    /// Its certificates may have an address of its own; public roots sign no certificate of a server.
    @Test(arguments: [
        ("CN=Priv Root", "tls.unknown-issuer"), ("CN=Example Root CA,O=Example", "tls.unknown-issuer"),
        ("CN=Grassroots CA", "tls.incomplete-chain"), ("CN=Example Intermediate Root", "tls.incomplete-chain"),
        ("CN=Root Issuing 2", "tls.incomplete-chain"), ("CN=corp-DC01-CA,DC=corp", "tls.incomplete-chain"),
    ])
    func anAuthorityWithTheNameOfARootIsNoMissingIntermediate(issuer: String, name: String) {
        var own = CertificateChain.Certificate.ofServer
        own.issuer = issuer
        let report = Self.report(.certificate(.unknownIssuer, issuer: issuer), .init([own], rejectedDepth: 0))
        #expect(report.causes.map(\.name) == [name])
        let isRoot = name == "tls.unknown-issuer"
        #expect(report.causes.first?.evidence.last?.contains("the name of a root") == isRoot)
        // Where nothing tells them apart, both are named.
        let text = ([report.sentence] + (report.causes.first?.remedies ?? [])).joined()
        #expect(isRoot || text.contains("a private root.") && text.contains("tells them apart"))
        #expect(text.contains("intermediate"))
        // This machine trusts it: nothing is missing.
        let trusted = Self.report(
            .established(version: "TLSv1.3", protocol: nil, issuer: issuer), .init([own]))
        #expect(trusted.result(of: .tls)?.words.hasSuffix("its issuer's is not sent") == !isRoot)
    }

    @Test func anInspectingDeviceIsNamedFirst() {
        #expect(Self.name(.unknownIssuer, [.ofServer], issuer: "CN=Zscaler Intermediate") == "tls.inspected")
    }

    /// A device may sign with an authority of a plain name, whose own issuer has the vendor's.
    @Test func anInspectingAuthorityIsFoundAboveAnotherOne() {
        var device = CertificateChain.Certificate.intermediate
        device.issuer = "CN=Zscaler Root CA"
        let chain = CertificateChain([.ofServer, device], rejectedDepth: 0)
        let report = Self.report(.certificate(.unknownIssuer, issuer: Self.issuer), chain)
        #expect(report.causes.map(\.name) == ["tls.inspected"])
        #expect(
            report.causes.first?.evidence == [
                "its issuer is not known (issuer: CN=Example Intermediate)",
                "an authority of its chain: CN=Zscaler Root CA",
            ])
        let trusted = Self.report(
            .established(version: "TLSv1.3", protocol: nil, issuer: Self.issuer), .init([.ofServer, device]))
        #expect(
            trusted.result(of: .tls)?.words
                == "TLSv1.3, inspected by a trusted device, 2 certificates, the server's valid for 29 days")
    }

    // MARK: Expired certificates

    @Test(
        arguments: [
            (0, "tls.expired", nil),
            (1, "tls.authority-expired", "it is number 2 of the 2 certificates that the server sent"),
            (2, "tls.authority-expired", "it is an authority's that this machine trusts"),
        ] as [(Int, String, String?)])
    func positionOfAnExpiredCertificateIsReported(depth: Int, name: String, place: String?) {
        let report = Self.report(
            .certificate(.expired, issuer: Self.issuer), .init([.ofServer, .intermediate], rejectedDepth: depth))
        #expect(report.causes.map(\.name) == [name])
        let words = "it has expired (issuer: CN=Example Intermediate)"
        #expect(report.causes.first?.evidence == [words] + (place.map { [$0] } ?? []))
    }

    // MARK: Words

    @Test func aHandshakeTellsTheChainWithoutItsNames() {
        let established = TLSFacts.Handshake.established(
            version: "TLSv1.3", protocol: "http/1.1", issuer: "CN=Example Intermediate")
        func result(_ chain: CertificateChain?) -> ChappieDiagnosis.StepResult? {
            Self.report(established, chain).result(of: .tls)
        }
        let whole = result(.init([.ofServer, .intermediate]))
        #expect(whole?.words == "TLSv1.3, http/1.1, 2 certificates, the server's valid for 29 days")
        #expect(
            whole?.fullWords == [
                "issuer: CN=Example Intermediate",
                "certificate 1: CN=inner.example, issued by CN=Example Intermediate, valid for 29 days",
                "certificate 2: CN=Example Intermediate, issued by CN=Example Root, valid for 900 days",
            ])
        // This machine trusts the intermediate authority itself.
        let lacking = result(.init([.ofServer]))
        #expect(
            lacking?.words
                == "TLSv1.3, http/1.1, 1 certificate, the server's valid for 29 days, its issuer's is not sent")
        #expect(lacking?.outcome == .ok)
        #expect(result(nil)?.words == "TLSv1.3, http/1.1" && result(.init([]))?.words == "TLSv1.3, http/1.1")
    }

    /// The name of an authority is evidence, and that of a machine is not to be shown to everybody.
    @Test(
        arguments: [
            ("CN=inner.example", " (signed by itself)"), ("CN=Our own CA", " (issuer: CN=Our own CA)"),
            ("CN=hidden-host.corp.example", " (the issuer has the name of a machine)"),
            ("O=Corp,CN=*.corp.example", " (the issuer has the name of a machine)"),
            ("CN=192.0.2.7,O=Corp", " (the issuer has the name of a machine)"),
            ("CN=2001:db8::7", " (the issuer has the name of a machine)"),
            ("CN=DigiCert SHA2 CA,OU=www.digicert.com", " (issuer: CN=DigiCert SHA2 CA,OU=www.digicert.com)"),
            ("CN=Zscaler Root CA (zscaler.net)", " (issuer: CN=Zscaler Root CA (zscaler.net))"),
            ("CN=R3,O=Let's Encrypt,C=US", " (issuer: CN=R3,O=Let's Encrypt,C=US)"),
        ]) func theNameOfAMachineIsInTheFullWordsAlone(issuer: String, words: String)
    {
        var own = CertificateChain.Certificate.ofServer
        own.issuer = issuer
        let report = Self.report(.certificate(.wrongHost, issuer: issuer), .init([own], rejectedDepth: 0))
        #expect(report.causes.first?.evidence == ["it is for another host" + words])
        #expect(report.result(of: .tls)?.words == "it is for another host" + words)
        #expect(report.result(of: .tls)?.fullWords.first?.contains("issued by \(issuer)") == true)
        guard issuer != own.subject else { return }
        // The subject of a proxy's certificate is not known.
        let proxy = PathJudge(.proxy(.certificate(.wrongHost, issuer: issuer))).report
        #expect(proxy.causes.first?.evidence.first == "the proxy's certificate: it is for another host" + words)
        #expect(proxy.result(of: .proxy)?.fullWords.last == "issuer: \(issuer)")
    }

    @Test func anExpiredCertificateIsSoInTheFullWords() {
        var own = CertificateChain.Certificate.ofServer
        own.timeLeft = .zero - Self.day * 9
        let report = Self.report(.certificate(.expired, issuer: nil), .init([own], rejectedDepth: 0))
        let line = "certificate 1: CN=inner.example, issued by CN=Example Intermediate, expired 9 days ago"
        #expect(report.result(of: .tls)?.fullWords == [line])
        #expect(report.result(of: .tls)?.words == "it has expired")
    }
}
