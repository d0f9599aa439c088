package import StreamSession

/// The facts about one kind of error.
package struct ErrorFacts: Sendable, Equatable {
    /// The kind of problem.
    package var category: ChappieErrorCategory
    /// The advice before the same request is sent again.
    package var retryGuidance: ChappieRetryGuidance
    /// Indicates whether a person has to act before the same request can succeed.
    package var requiresUserAction: Bool
    /// Indicates whether it points to a defect of the program or of the server.
    package var shouldReport: Bool

    /// Creates facts.
    package init(
        _ category: ChappieErrorCategory,
        _ retryGuidance: ChappieRetryGuidance = .none,
        requiresUserAction: Bool = false,
        shouldReport: Bool = false
    ) {
        self.category = category
        self.retryGuidance = retryGuidance
        self.requiresUserAction = requiresUserAction
        self.shouldReport = shouldReport
    }

    /// Creates the facts for the status code of an HTTP response (RFC 9110 section 15).
    package init(statusCode: Int) {
        switch statusCode {
        case 401: self.init(.auth, .refreshAuthThenRetry)
        case 407: self.init(.auth, requiresUserAction: true)
        case 402, 403, 451: self.init(.permission, requiresUserAction: true)
        case 408, 409, 425: self.init(.server, .afterServerFailure)
        case 429: self.init(.rateLimit, .afterRateLimit)
        case 300..<400, 404, 405, 426: self.init(.validation, requiresUserAction: true)
        case 400..<500: self.init(.validation, shouldReport: true)
        case 501, 505: self.init(.server)
        case 500..<600: self.init(.server, .afterServerFailure)
        default: self.init(.server, shouldReport: true)
        }
    }

    /// Creates the facts for the close code of a WebSocket (RFC 6455 section 7.4.1 and IANA's registry).
    package init(closeCode: Int?) {
        switch closeCode {
        case nil, 1000, 1001, 1005, 1006, 1015: self.init(.network, .afterNetworkFailure)
        case 1002, 1003, 1007, 1010: self.init(.server, .afterServerFailure, shouldReport: true)
        case 1008: self.init(.permission, requiresUserAction: true)
        case 1009: self.init(.validation)
        default: self.init(.server, .afterServerFailure)
        }
    }

    /// Creates the facts for the meaning of an error code or type.
    package init(_ meaning: ErrorMeaning) {
        self.init(
            meaning.category, ChappieRetryGuidance(after: meaning.failureClass),
            requiresUserAction: meaning.requiresUserAction, shouldReport: meaning.shouldReport)
    }

    /// Creates the facts in a row of the table of failures.
    package init(_ row: FailureRow) {
        self.init(
            row.category, row.retry,
            requiresUserAction: row.requiresUserAction, shouldReport: row.shouldReport)
    }
}
