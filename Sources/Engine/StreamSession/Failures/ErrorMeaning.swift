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
    /// The status code that means the same; nil for a name that means more than a status code, and for a close code.
    package let statusCode: Int?

    /// Looks up the meaning of an error: of its code, or else of its type, or else of its status code; nil when it has no
    /// status code, and the table no row.
    ///
    /// Of two names that mean a status code, 400 says the least: servers send `invalid_request_error` as the type or the
    /// code beside a name with more meaning (DeepSeek's 401, Doubleword's 403).
    ///
    /// - Parameters:
    ///   - code: the error's code, as the server spells it.
    ///   - type: the error's type.
    ///   - statusCode: the status code, which outranks the names that only stand for one.
    package init?(code: String?, type: String? = nil, statusCode: Int? = nil) {
        let names = [code, type].compactMap { $0 }
        let outranked = names.compactMap(Self.outranked)
        guard
            let meaning = names.lazy.compactMap({ Self.table[$0] }).first ?? statusCode.map(Self.init(statusCode:))
                ?? outranked.first(where: { $0.statusCode != 400 }) ?? outranked.first
        else { return nil }
        self = meaning
    }

    /// Returns whether a code or a type means that a plan, a quota or a budget is used up, rather than too high a rate.
    package static func isUsageLimit(_ name: String) -> Bool { Self(code: name)?.failureClass == .usageLimit }

    /// All codes and types that have a row, sorted.
    package static var names: [String] { [Self.table, Self.outrankedTable].flatMap(\.keys).sorted() }

    /// The response that a request continues is unknown to the server, or no longer stored.
    package static let forgottenResponse = "previous_response_not_found"
    /// The server does not have the model, or not for this account.
    package static let unknownModel = "model_not_found"
    /// The input exceeds the model's context.
    package static let inputTooLong = "context_length_exceeded"
    /// The server has no capacity for the model at the moment.
    package static let overloaded = "server_is_overloaded"

    /// Looks up the meaning of a status code that answers a request (RFC 9110 section 15).
    package init(statusCode: Int) {
        let meaning =
            switch statusCode {
            case 401: Self(.credential, .auth)
            case 407: Self(.fatal, .auth, requiresUserAction: true)
            case 402, 403, 451: Self(.fatal, .permission, requiresUserAction: true)
            case 408, 409, 425: Self(.server, .server)
            case 429: Self(.throttle, .rateLimit)
            // The server refuses the current protocol (RFC 9110 section 15.5.22): over a WebSocket, that is the WebSocket.
            case 426: Self(.definite, .validation, requiresUserAction: true)
            case 300..<400, 404, 405: Self(.fatal, .validation, requiresUserAction: true)
            case 400..<500: Self(.fatal, .validation, shouldReport: true)
            case 501, 505: Self(.fatal, .server)
            case 500..<600: Self(.server, .server)
            // The server has taken the request, and may charge it: another one would be answered in the same way.
            case 200..<300: Self(.fatal, .server, shouldReport: true)
            default: Self(.fatal, .server, shouldReport: true)
            }
        self.init(meaning.failureClass, meaning.facts, statusCode: statusCode)
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
        self.init(
            failureClass,
            ErrorFacts(
                category, retry ?? ChappieRetryGuidance(after: failureClass), requiresUserAction: requiresUserAction,
                shouldReport: shouldReport))
    }

    private init(_ failureClass: FailureClass, _ facts: ErrorFacts, statusCode: Int? = nil) {
        self.failureClass = failureClass
        self.facts = facts
        self.statusCode = statusCode
    }

    /// Returns the meaning of a name that counts without a status code only; a number of an error is a status code.
    private static func outranked(_ name: String) -> Self? {
        Self.outrankedTable[name] ?? Int(name).flatMap { (400..<600).contains($0) ? Self(statusCode: $0) : nil }
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
        (["websocket_connection_limit_reached"], Self(.transient, .server)),
        // Where the engine has named the response, it sends the whole input once (`TurnStateMachine`). The caller's own
        // reference is as unknown to every other connection.
        ([Self.forgottenResponse], Self(.fatal, .validation, requiresUserAction: true)),
        (["rate_limit_exceeded", "slow_down"], Self(.throttle, .rateLimit)),
        (
            [
                "billing_hard_limit_reached", "billing_not_active", "insufficient_quota",
                "organization_spend_limit_exceeded", "organization_usage_limit_exceeded", "usage_limit_reached",
            ], Self(.usageLimit, .rateLimit, requiresUserAction: true)
        ),
        (["usage_not_included"], Self(.usageLimit, .permission, requiresUserAction: true)),
        (["invalid_api_key"], Self(.credential, .auth)),
        // After output the choice of another model, or of a later time, is the caller's (`Recovery`).
        ([Self.overloaded], Self(.server, .server)),
        (
            [
                // Azure's filter and that of OpenAI's images: another input may pass.
                "content_filter", "content_policy_violation",
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

        // Families of errors, each with the status code beside which servers were recorded to send it: a status code is
        // more precise. `api_error` is missing, as it came with 401 (Ollama) and is Anthropic's name for 500.
        (
            [
                "invalid_request_error", "invalid_model", "invalid_request_invalid_args", "exceed_context_size_error",
                // OpenAI's codes of a single member of a request, Groq's of a call that does not fit its schema, xAI's.
                "decimal_above_max_value", "decimal_below_min_value", "invalid_value", "tool_use_failed",
                "unsupported_file", "unsupported_parameter", "unsupported_value", "invalid-argument",
            ], Self(statusCode: 400)
        ),
        (["authentication_error"], Self(statusCode: 401)),
        (["permission_error", "forbidden"], Self(statusCode: 403)),
        (["not_found_error", "DeploymentNotFound"], Self(statusCode: 404)),
        (["rate_limit_error", "RateLimitReached"], Self(statusCode: 429)),
        // The second is a code of OpenAI's API, the others are those of gateways.
        (
            ["server_error", "vector_store_timeout", "internal_error", "internal_server_error", "service_unavailable"],
            Self(statusCode: 500)
        ),
        (["overloaded_error"], Self(statusCode: 529)),
    ]
}
