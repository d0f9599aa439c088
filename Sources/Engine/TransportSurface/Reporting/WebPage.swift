import StreamSession

/// An answer that is a web page, where the API's would be JSON: an intermediary has answered.
///
/// Only the text of an error depends on it, never the recovery.
package enum WebPage: Equatable {
    /// Cloudflare, in front of the server, blocks the request.
    case cloudflareBlock
    /// Any other page: a captive portal, a sign-in page, a gateway's error page.
    case other

    /// The fixed word for reports.
    package static let detail = "web-page"

    /// Returns whether a content type is that of a page for a browser.
    package static func isContentType(_ value: String?) -> Bool {
        guard let essence = value?.prefix(while: { $0 != ";" && $0 != " " }).lowercased() else { return false }
        return essence == "text/html" || essence == "application/xhtml+xml"
    }

    /// Recognizes a body that begins as HTML does (WHATWG MIME Sniffing section 7.1, the patterns of a page); otherwise
    /// nil.
    package init?(_ body: String) {
        let beginning = Self.beginning(of: body)
        guard Self.beginnings.contains(where: { beginning.hasPrefix($0) }) else { return nil }
        let text = body.prefix(16 << 10).lowercased()
        self = text.contains("cloudflare") && text.contains("blocked") ? .cloudflareBlock : .other
    }

    private static let beginnings = ["<!doctype html", "<html", "<head", "<body", "<title", "<script", "<!--"]

    /// Returns the first significant bytes, in lower case.
    private static func beginning(of body: String) -> String {
        let bytes = body.utf8.drop { [0x09, 0x0A, 0x0C, 0x0D, 0x20, 0xEF, 0xBB, 0xBF].contains($0) }
        return String(decoding: bytes.prefix(16), as: UTF8.self).lowercased()
    }

    /// The end of a sentence about the answer.
    package var words: String {
        switch self {
        case .cloudflareBlock: "with a page of Cloudflare, which stands before the server and blocks the request"
        case .other: "with a web page: something between here and the server answered in its place"
        }
    }

    /// Returns advice for the program's user, with the status code of the answer.
    package func advice(statusCode: Int) -> String {
        switch (self, statusCode) {
        case (.cloudflareBlock, _):
            "Try another network or region, without a VPN; if that does not help, ask the server's operator."
        case (.other, 404), (.other, 405): "Check the address: the API is not there."
        case (.other, 500..<600) where ErrorMeaning(statusCode: statusCode).facts.retryGuidance != .none:
            "Try again in a moment; if it stays so, ask the operator of the server or of the proxy."
        case (.other, _): Self.advice
        }
    }

    /// The advice for all of them.
    package static let advice =
        "Check the address, and open it in a browser: a captive portal, a proxy or a sign-in page may stand in between."
}
