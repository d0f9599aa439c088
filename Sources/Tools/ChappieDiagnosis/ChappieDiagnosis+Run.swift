public import ChappieTransport
public import PathDiagnosis

extension ChappieDiagnosis {
    /// The extent of an examination.
    public enum Extent: Sendable, CaseIterable {
        /// At most 5 s, with three pings.
        case fast
        /// At most 20 s, with ten pings.
        case whole
    }

    /// Examines the path to the server of a configuration, by the engine's own layers.
    ///
    /// It looks up addresses, connects, and asks the proxy; sends a GET of `/models` without the credential and, if
    /// that is answered by an API, with it; and opens a WebSocket, on which it sends pings and no request. After a page
    /// with status code 401 or 403, an answer 404 that is no API's, or a redirection on the same host, it sends the
    /// same GET with the credential, where the certificate is verified or the server is on this machine; after an error
    /// 500 in JSON anyway. Elsewhere the report says that the credential was withheld. Where the GET with the
    /// credential is answered 401 or 403, it sends a POST without content to `/responses` with it and, where that is
    /// not refused, without it. After the opening handshake, whatever its outcome, it sends a POST without content to
    /// `/responses`, which decides about HTTP, with the credential if there is one. Where the answer to the GET is no
    /// API's, or none comes, it sends that POST before instead, without the credential; and then with it in the place
    /// of the GET. Where none comes to the GET, and 404 to that POST, it sends the POST with the credential too. Where
    /// a request without TLS fails as it would at a port with TLS, it tries a TLS handshake there. Where the opening
    /// handshake is refused, and not by the server beyond doubt, it sends a GET of `/responses`, which is the same
    /// request without the upgrade.
    ///
    /// Where TLS or HTTP fails behind a proxy, it tries TCP with the server without the proxy.
    ///
    /// No request asks a model. The closures of the configuration other than `credential` are not called; `credential`
    /// is given up after the time of a step.
    ///
    /// The examination ends after the time of its extent at the latest. A look-up that the system has not answered by
    /// then goes on in the background. Cancelling the task ends it at once.
    ///
    /// - Parameters:
    ///   - configuration: the engine's configuration: address, credential, proxy, TLS, policy.
    ///   - extent: the extent, which limits the time.
    ///   - holds: silences for which connections are held idle, all at once, if a probe server (`chappie serve --probe`)
    ///     answers; they come on top of the extent's time. At most eight, of 1 s to 600 s each; others are left out.
    /// - Returns: the report, with the verdict in one sentence.
    /// - Throws: `CancellationError` when the task is cancelled, and `ChappieArgumentError` for a configuration with which
    ///   no request can be sent.
    public static func run(
        _ configuration: ChappieTransportConfiguration, extent: Extent = .whole, holds: [Duration] = []
    ) async throws -> Report {
        try await Self.run(configuration, pace: extent.pace, holds: holds)
    }

    /// Examines the path within the limits of a pace.
    static func run(
        _ configuration: ChappieTransportConfiguration, pace: ExaminationPace, holds: [Duration] = []
    ) async throws -> Report {
        let inquiry = CredentialInquiry()
        var configuration = configuration
        configuration.credential = inquiry.limiting(configuration.credential, to: pace.step)
        var examination = Examination(
            try ProbeRequests(configuration), pace: pace, inquiry: inquiry, holds: ExaminationPace.admitted(holds))
        return PathJudge(try await examination.run()).report
    }
}

extension ChappieStreamingTransportPolicy {
    /// Creates the policy that fits an examined path: the default, or `httpSSEOnly` where no WebSocket works.
    ///
    /// ``ChappieDiagnosis/Advice`` has the settings that are not the policy's.
    public init(suggestedBy report: ChappieDiagnosis.Report) {
        self = report.advice.usesHTTPOnly ? .httpSSEOnly : .default
    }
}
