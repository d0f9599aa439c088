// Error bodies of HTTP answers and error events.
//
// Pure, but for the time at which a usage limit ends.

import PlatformFoundation

/// Writes the errors that services send.
enum ErrorBody {
    /// The body of an HTTP error.
    static func body(
        type: String = "invalid_request_error", code: String? = nil, message: String, param: String? = nil
    ) -> String {
        "{\"error\":" + self.object(type: type, code: code, message: message, param: param) + "}"
    }

    /// Returns the body for a status without further details.
    static func body(status: Int) -> String {
        switch status {
        case 401: self.body(code: "token_expired", message: "The token has expired.")
        case 429:
            self.body(type: "rate_limit_exceeded", code: "rate_limit_exceeded", message: "Rate limit reached.")
        case 500...599: self.body(type: "server_error", message: "The server had an error.")
        default: self.body(message: "The request was refused.")
        }
    }

    /// A whole 502 in HTTP/1.0, head and body.
    static var badGatewayAnswer: String {
        "HTTP/1.0 502 Bad Gateway\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
            + self.body(status: 502)
    }

    /// The body of a 429 for a used-up plan.
    static var usageLimit: String {
        "{\"error\":{" + Self.usageMembers + ",\"message\":\"The usage limit has been reached\"}}"
    }

    /// The time for which a used-up plan stays so, in seconds: nearly four hours, longer than any test waits.
    static let usageLimitDuration = 13_872

    private static var usageMembers: String {
        "\"type\":\"usage_limit_reached\",\"plan_type\":\"plus\",\"resets_at\":\(self.usageLimitEnd),"
            + "\"resets_in_seconds\":\(self.usageLimitDuration),\"eligible_promo\":null"
    }

    /// The time at which a plan that is used up is full again, in seconds since 1970.
    static var usageLimitEnd: Int { Int(Date().timeIntervalSince1970) + self.usageLimitDuration }

    private static func object(type: String, code: String?, message: String, param: String?) -> String {
        let kind = type == "usage_limit_reached" ? self.usageMembers : "\"type\":\(JSONValue.quoted(type))"
        let codeText = code.map { JSONValue.quoted($0) } ?? "null"
        let paramText = param.map { JSONValue.quoted($0) } ?? "null"
        return "{\(kind),\"code\":\(codeText),\"message\":\(JSONValue.quoted(message)),\"param\":\(paramText)}"
    }

    /// An error frame that refuses a request on a WebSocket.
    static func frame(status: Int, code: String?, message: String, param: String? = nil) -> String {
        let error = self.object(type: "invalid_request_error", code: code, message: message, param: param)
        return "{\"type\":\"error\",\"status\":\(status),\"error\":\(error)}"
    }

    /// The error event of a fault.
    static func event(_ error: ChappieTestServer.Fault.ErrorEvent, sequenceNumber: Int) -> String {
        let message = error.message ?? "An error occurred while processing your request."
        switch error.shape {
        case .flat:
            let code = error.code.map { JSONValue.quoted($0) } ?? "null"
            return "{\"type\":\"error\",\"code\":\(code),\"message\":\(JSONValue.quoted(message)),"
                + "\"param\":null,\"sequence_number\":\(sequenceNumber)}"
        case .nested:
            let name = JSONValue.quoted(error.statusName ?? "status")
            let status = error.status.map { ",\(name):\($0)" } ?? ""
            let type = error.type ?? "invalid_request_error"
            let object = self.object(type: type, code: error.code, message: message, param: nil)
            let fields = (error.fields ?? []).map { JSONValue.quoted($0.name) + ":" + JSONValue.quoted($0.value) }
            let headers = fields.isEmpty ? "" : ",\"headers\":{" + fields.joined(separator: ",") + "}"
            return "{\"type\":\"error\"\(status),\"error\":\(object)\(headers)}"
        }
    }
}
