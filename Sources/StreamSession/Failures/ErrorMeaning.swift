// The tables of error codes, status codes and close codes: the engine's reaction to a code and the caller's guidance come
// from the same row. Only the reaction to an answer to the upgrade, and to a close before the first event, is another
// one (`FailureClassification.swift`), as both concern the WebSocket itself. Immutable values without an owner; no message
// text.

/// The meaning of a peer's code: of an error code or error type of the Responses API, an HTTP status code, or a close
/// code.
///
/// The class decides both the engine's next step and the guidance of the public error, so that the two cannot differ.
/// A name without a row leaves the decision to the status code.
package struct ErrorMeaning: Sendable, Equatable {
    /// The engine's reaction.
    package let failureClass: FailureClass
    /// The facts for the caller.
    package let facts: ErrorFacts

    /// Looks up the meaning of a name; nil when the table has no row for it that counts.
    ///
    /// - Parameters:
    ///   - name: a code or a type, as the server spells it.
    ///   - hasStatusCode: whether the error has a status code as well.
    package init?(_ name: String?, hasStatusCode: Bool) {
        guard let name, let meaning = Self.table[name] ?? (hasStatusCode ? nil : Self.outrankedTable[name]) else {
            return nil
        }
        self = meaning
    }

    /// Looks up the meaning of an error: of its code, or else of its type.
    package init?(code: String?, type: String?, hasStatusCode: Bool) {
        guard
            let meaning = Self(code, hasStatusCode: hasStatusCode) ?? Self(type, hasStatusCode: hasStatusCode)
        else { return nil }
        self = meaning
    }

    /// Returns whether a code or a type means that a plan, a quota or a budget is used up, rather than too high a rate.
    package static func isUsageLimit(_ name: String) -> Bool {
        Self(name, hasStatusCode: false)?.failureClass == .usageLimit
    }

    /// All codes and types that have a row, sorted.
    package static var names: [String] { [Self.table, Self.outrankedTable].flatMap(\.keys).sorted() }

    /// The response that a request continues is unknown to the server, or no longer stored.
    static let forgottenResponse = "previous_response_not_found"
    /// The server does not have the model, or not for this account.
    package static let unknownModel = "model_not_found"
    /// The input exceeds the model's context.
    package static let inputTooLong = "context_length_exceeded"
    /// The server has no capacity for the model at the moment.
    package static let overloaded = "server_is_overloaded"

    /// Looks up the meaning of a status code that answers a request (RFC 9110 section 15).
    package init(statusCode: Int) {
        self =
            switch statusCode {
            case 401: Self(.credential, .auth)
            case 407: Self(.fatal, .auth, requiresUserAction: true)
            case 402, 403, 451: Self(.fatal, .permission, requiresUserAction: true)
            case 408, 409, 425: Self(.server, .server)
            case 429: Self(.throttle, .rateLimit)
            case 300..<400, 404, 405, 426: Self(.fatal, .validation, requiresUserAction: true)
            case 400..<500: Self(.fatal, .validation, shouldReport: true)
            case 501, 505: Self(.fatal, .server)
            case 500..<600: Self(.server, .server)
            // The server has taken the request, and may charge it: another one would be answered in the same way.
            case 200..<300: Self(.fatal, .server, shouldReport: true)
            default: Self(.fatal, .server, shouldReport: true)
            }
    }

    /// Looks up the meaning of a WebSocket's close code, nil for none (RFC 6455 section 7.4.1 and IANA's registry).
    package init(closeCode: Int?) {
        self =
            switch closeCode {
            case nil, 1000, 1001, 1005, 1006, 1015: Self(.transient, .network, retry: .afterNetworkFailure)
            // The peer reports a protocol error: an intermediary corrupts frames, or the endpoints disagree about them.
            case 1002, 1003, 1007, 1010: Self(.probable, .server, retry: .afterServerFailure, shouldReport: true)
            case 1008:
                Self(.transient, .permission, retry: ChappieRetryGuidance.none, requiresUserAction: true)
            case 1009: Self(.size, .validation)
            default: Self(.transient, .server)
            }
    }

    /// Creates a row; the guidance is that of the class unless it is given.
    private init(
        _ failureClass: FailureClass, _ category: ChappieErrorCategory, retry: ChappieRetryGuidance? = nil,
        requiresUserAction: Bool = false, shouldReport: Bool = false
    ) {
        self.failureClass = failureClass
        self.facts = ErrorFacts(
            category, retry ?? ChappieRetryGuidance(after: failureClass), requiresUserAction: requiresUserAction,
            shouldReport: shouldReport)
    }

    private static let table: [String: Self] = Self.meanings(of: Self.rows)
    private static let outrankedTable: [String: Self] = Self.meanings(of: Self.outrankedRows)

    private static func meanings(of rows: [([String], Self)]) -> [String: Self] {
        var table: [String: Self] = [:]
        for (names, meaning) in rows {
            for name in names { table[name] = meaning }
        }
        return table
    }

    /// The names with precedence over a status code.
    private static let rows: [([String], Self)] = [
        // Another connection, with all of the input, may succeed.
        ([Self.forgottenResponse, "websocket_connection_limit_reached"], Self(.transient, .server)),
        (["rate_limit_exceeded", "slow_down"], Self(.throttle, .rateLimit)),
        (
            [
                "insufficient_quota", "organization_spend_limit_exceeded", "organization_usage_limit_exceeded",
                "usage_limit_reached",
            ], Self(.usageLimit, .rateLimit, requiresUserAction: true)
        ),
        (["usage_not_included"], Self(.usageLimit, .permission, requiresUserAction: true)),
        (["invalid_api_key"], Self(.credential, .auth)),
        // After output the choice of another model, or of a later time, is the caller's (`Recovery`).
        ([Self.overloaded], Self(.server, .server)),
        (
            [
                "bio_policy", Self.inputTooLong, "cyber_policy", "data_residency_mismatch", "empty_image_file",
                "image_content_policy_violation", "image_file_not_found", "image_file_too_large", "image_parse_error",
                "image_too_large", "image_too_small", "invalid_base64_image", "invalid_image", "invalid_image_format",
                "invalid_image_mode", "invalid_image_url", "invalid_prompt", "misalignment_policy_violation",
                "unsupported_image_media_type",
                // The connection has the maximum number of lanes: the caller has to use an existing one.
                "websocket_stream_limit_reached",
            ], Self(.fatal, .validation, requiresUserAction: true)
        ),
        (["invalid_stream_id", Self.unknownModel], Self(.fatal, .validation, shouldReport: true)),
    ]

    /// The names that count without a status code only.
    private static let outrankedRows: [([String], Self)] = [
        // The server of the image may answer the next request.
        (["failed_to_download_image"], Self(.server, .validation)),

        // The server has failed: a code and a type of the Responses API, and a type of other servers (llama.cpp).
        (["server_error"], Self(.server, .server)),

        // Types are families of errors: a status code beside them is more precise.
        (["invalid_request_error"], Self(.fatal, .validation, shouldReport: true)),
        (["not_found_error"], Self(.fatal, .validation, requiresUserAction: true)),
        (["permission_error"], Self(.fatal, .permission, requiresUserAction: true)),
        (["authentication_error"], Self(.credential, .auth)),
        (["rate_limit_error"], Self(.throttle, .rateLimit)),
    ]
}
