// The one table of error codes: what the engine does about a code, and what the caller is told about it, come from the
// same row. Immutable values, owned by nobody; no message text.

/// The meaning of an error code or error type of the Responses API.
///
/// The class decides both the engine's next step and the guidance of the public error, so that the two cannot differ.
/// A name without a row leaves the decision to the status code.
package struct ErrorMeaning: Sendable, Equatable {
    /// The kind of problem, in the words of the public error.
    package enum Category: Sendable, Equatable, CaseIterable {
        /// The credential.
        case auth
        /// The request.
        case validation
        /// The person's options.
        case permission
        /// A rate or usage limit.
        case rateLimit
        /// The server.
        case server
    }

    /// The engine's reaction.
    package let failureClass: FailureClass
    /// The kind of problem.
    package let category: Category
    /// Whether a person has to do something before the same request can succeed.
    package let requiresUserAction: Bool
    /// Whether it points to a defect of the program.
    package let shouldReport: Bool
    /// Whether it counts beside a status code; otherwise the status code decides where there is one.
    package let outranksStatusCode: Bool

    /// The meaning of a name; nil when the table has none that counts.
    ///
    /// - Parameters:
    ///   - name: a code or a type, as the server spells it.
    ///   - hasStatusCode: whether the error has a status code as well.
    package init?(_ name: String?, hasStatusCode: Bool) {
        guard let meaning = name.flatMap({ Self.table[$0] }), meaning.outranksStatusCode || !hasStatusCode else {
            return nil
        }
        self = meaning
    }

    /// The meaning of an error: of its code, or else of its type.
    package init?(code: String?, type: String?, hasStatusCode: Bool) {
        guard
            let meaning = Self(code, hasStatusCode: hasStatusCode) ?? Self(type, hasStatusCode: hasStatusCode)
        else { return nil }
        self = meaning
    }

    /// Whether a code or a type says that a plan, a quota or a budget is used up, and not that requests come too fast.
    package static func isUsageLimit(_ name: String) -> Bool { Self.table[name]?.failureClass == .usageLimit }

    /// Every code and type that has a row.
    package static var names: [String] { Self.table.keys.sorted() }

    /// The response that a request goes on from is not there, or no more.
    static let forgottenResponse = "previous_response_not_found"
    /// The server does not have the model, or not for this account.
    package static let unknownModel = "model_not_found"
    /// The input does not fit into what the model can read.
    package static let inputTooLong = "context_length_exceeded"
    /// The server has no capacity for the model, and says so after it has tried.
    static let overloaded = "server_is_overloaded"

    private init(
        _ failureClass: FailureClass, _ category: Category, requiresUserAction: Bool = false,
        shouldReport: Bool = false, outranksStatusCode: Bool = true
    ) {
        self.failureClass = failureClass
        self.category = category
        self.requiresUserAction = requiresUserAction
        self.shouldReport = shouldReport
        self.outranksStatusCode = outranksStatusCode
    }

    private static let table: [String: Self] = {
        var table: [String: Self] = [:]
        for (names, meaning) in Self.rows {
            for name in names { table[name] = meaning }
        }
        return table
    }()

    private static let rows: [([String], Self)] = [
        // Another connection, with all of the input, may do.
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
        // The server has tried for long enough: the choice of another model, or of a later time, is the caller's.
        ([Self.overloaded], Self(.fatal, .server, requiresUserAction: true)),
        (
            [
                "bio_policy", Self.inputTooLong, "cyber_policy", "data_residency_mismatch", "empty_image_file",
                "image_content_policy_violation", "image_file_not_found", "image_file_too_large", "image_parse_error",
                "image_too_large", "image_too_small", "invalid_base64_image", "invalid_image", "invalid_image_format",
                "invalid_image_mode", "invalid_image_url", "invalid_prompt", "misalignment_policy_violation",
                "unsupported_image_media_type",
                // A connection has all the lanes that it may have: the caller has to take one that exists.
                "websocket_stream_limit_reached",
            ], Self(.fatal, .validation, requiresUserAction: true)
        ),
        (["invalid_stream_id", Self.unknownModel], Self(.fatal, .validation, shouldReport: true)),
        // The server of the image may answer the next time.
        (["failed_to_download_image"], Self(.server, .validation, outranksStatusCode: false)),

        // Types are families of errors: a status code beside them is more precise.
        (["invalid_request_error"], Self(.fatal, .validation, shouldReport: true, outranksStatusCode: false)),
        (["not_found_error"], Self(.fatal, .validation, requiresUserAction: true, outranksStatusCode: false)),
        (["permission_error"], Self(.fatal, .permission, requiresUserAction: true, outranksStatusCode: false)),
        (["authentication_error"], Self(.credential, .auth, outranksStatusCode: false)),
        (["rate_limit_error"], Self(.throttle, .rateLimit, outranksStatusCode: false)),
    ]
}
