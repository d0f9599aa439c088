// The facts that failures of the transport stand for.
import Foundation
import PathDiagnosis
import StreamTransport
import Testing

@testable import ChappieDiagnosis

@Suite struct FailureFactsTests {
    private static func failure(_ cause: TransportFailure.Cause) -> TransportFailure {
        TransportFailure(phase: .connect, cause: cause)
    }

    @Test(
        arguments: [
            (ECONNREFUSED, .refused), (ENETUNREACH, .noRoute), (EHOSTUNREACH, .noRoute), (EACCES, .forbidden),
            (EPERM, .forbidden), (ETIMEDOUT, .timedOut), (0, .failed),
        ] as [(Int32, Reach)])
    func systemErrorCodeHasItsConnectionOutcome(code: Int32, reach: Reach) {
        #expect(Self.failure(.unreachable(code: code)).reach == reach)
    }

    @Test(
        arguments: [
            (EAI_NONAME, .unknownName), (-5, .unknownName), (EAI_AGAIN, .noAnswer), (EAI_FAIL, .other),
        ] as [(Int32, ResolutionFacts.Failure)])
    func aCodeOfTheResolverIsAFailureOfTheLookUp(code: Int32, failure: ResolutionFacts.Failure) {
        #expect(Self.failure(.unresolvable(code: code)).resolution == failure)
    }

    @Test func proxyAuthenticationFailureIsMissingOrRefusedLogin() {
        let refused = Self.failure(.proxyRefused(statusCode: 407))
        #expect(refused.tunnel(hasLogin: false) == .loginMissing)
        #expect(refused.tunnel(hasLogin: true) == .loginRefused)
        #expect(Self.failure(.proxyRefused(statusCode: 403)).tunnel(hasLogin: true) == .refused(code: 403))
        #expect(Self.failure(.socksRefused(code: 2)).tunnel(hasLogin: false) == .refused(code: 2))
        #expect(
            Self.failure(.socksAuthenticationRefused(.credentialMissing)).tunnel(hasLogin: false) == .loginMissing)
        #expect(Self.failure(.notSOCKS).tunnel(hasLogin: false) == .otherProtocol)
    }

    /// The server has sent the field about content; an intermediary has altered no part of the handshake.
    @Test func contentInTheOpeningHandshakeIsNotReportedAsAltered() {
        #expect(Self.failure(.openingHandshakeInvalid(.content)).upgrade == .announcesContent)
        #expect(Self.failure(.openingHandshakeInvalid(.accept)).upgrade == .altered("accept"))
    }

    /// OpenSSL's verdicts (`X509_V_ERR_…`).
    @Test(
        arguments: [
            (10, .expired), (9, .notYetValid), (18, .unknownIssuer), (20, .unknownIssuer), (62, .wrongHost),
            (66, .other),
        ] as [(Int32, CertificateFault)])
    func verifyErrorCodeHasItsCertificateFault(code: Int32, fault: CertificateFault) {
        #expect(Self.failure(.certificateRejected(code: code)).handshake == .certificate(fault, issuer: nil))
    }

    /// An alert, or the end of the connection, may be the answer to bytes that are not TLS.
    @Test(
        arguments: [
            (.certificateRejected(code: 20), true), (.keyNotPinned, true), (.tlsAlert(70), false),
            (.tlsHandshakeFailed, false), (.connectionLost, false), (.timedOut, false),
        ] as [(TransportFailure.Cause, Bool)])
    func aCertificateIsEvidenceOfTLS(cause: TransportFailure.Cause, hasCertificate: Bool) {
        #expect(TransportFailure(phase: .tls, cause: cause).hasCertificate == hasCertificate)
        #expect(!TransportFailure(phase: .proxy, cause: cause).hasCertificate)
    }

    @Test func processFailuresAreEnvironmentFaults() {
        #expect(Self.failure(.descriptorsExhausted(limit: 16)).environmentFault == .descriptors(limit: 16))
        #expect(Self.failure(.environmentUnusable(.socket)).environmentFault == .resources)
        #expect(Self.failure(.trustAnchorsUnreadable).environmentFault == .trustAnchors)
        #expect(Self.failure(.timedOut).environmentFault == nil)
    }

    @Test func silencesHaveLimits() {
        let asked = [Duration.zero, .seconds(1), .seconds(600), .seconds(601)]
        #expect(ExaminationPace.admitted(asked) == [.seconds(1), .seconds(600)])
        #expect(ExaminationPace.admitted(Array(repeating: .seconds(1), count: 20)).count == 8)
    }

    /// The event stream keeps its time where that is enough; a second attempt is never shorter than a step.
    @Test(
        arguments: [
            (.whole, 15_000, 8_000), (.whole, 13_000, 6_000), (.whole, 25_000, 12_000), (.whole, 9_000, 4_000),
            (.whole, 4_000, 4_000), (.whole, 3_999, nil), (.fast, 2_700, 1_500), (.fast, 1_499, nil),
        ] as [(ChappieDiagnosis.Extent, Int, Int?)])
    func secondAttemptUsesTheRemainingTimeOfTheExamination(extent: ChappieDiagnosis.Extent, left: Int, expected: Int?) {
        let time = extent.pace.repetition(withLeft: .milliseconds(left))
        #expect(time == expected.map { .milliseconds($0) })
    }
}
