/// A page for the user of the browser.
///
/// It is self-contained: it loads no resources, runs no script, and escapes all external text.
struct CallbackPage: Sendable, Equatable {
    /// The status code.
    var statusCode: Int
    /// The heading.
    var title: String
    /// One or two sentences.
    var text: String

    // MARK: The pages

    /// The credential is stored.
    static let signedIn = Self(
        statusCode: 200, title: "You are signed in", text: "You can close this page and go back to the program.")
    /// The sign-in was cancelled.
    static let cancelled = Self(
        statusCode: 200, title: "The sign-in was cancelled", text: "You can close this page.")
    /// The browser has returned before.
    static let returnedBefore = Self(
        statusCode: 200, title: "This sign-in has come back already",
        text: "Nothing was done a second time. The program says what became of it.")
    /// The state is not that of this sign-in.
    static let wrongState = Self(
        statusCode: 400, title: "This is not the sign-in that the program waits for",
        text: "Nothing was done. Go back to the program, and use the address that it shows.")
    /// The server's answer is invalid.
    static let invalid = Self(
        statusCode: 400, title: "You are not signed in",
        text: "The authorization server sent neither a code nor an error. Go back to the program, and try again.")

    /// Returns the page of a denied authorization, with the server's description.
    static func denied(_ words: String) -> Self {
        Self(
            statusCode: 200, title: "You are not signed in",
            text: "The authorization server says: \(words)")
    }

    /// Returns the page of a failure after the browser's return.
    static func failed(_ reason: String) -> Self {
        Self(statusCode: 502, title: "You are not signed in", text: "\(reason) The program says more.")
    }

    /// Returns the page of a refused request.
    static func refused(statusCode: Int) -> Self {
        Self(
            statusCode: statusCode, title: "There is nothing here",
            text: "A program listens on this address for the end of a sign-in, and for nothing else.")
    }

    // MARK: Bytes

    /// The whole answer; the connection ends after it.
    var response: [UInt8] {
        let body = self.html
        let fields = [
            "Content-Type: text/html; charset=utf-8",
            "Content-Length: \(body.utf8.count)",
            "Cache-Control: no-store",
            // The URL of the callback contains the code.
            "Referrer-Policy: no-referrer",
            "X-Content-Type-Options: nosniff",
            "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                + "form-action 'none'; frame-ancestors 'none'",
            "Connection: close",
        ]
        let allow = self.statusCode == 405 ? ["Allow: GET"] : []
        let head = ["HTTP/1.1 \(self.statusCode) \(self.reason)"] + fields + allow
        return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    }

    private var html: String {
        """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(Self.escaped(self.title))</title>
        <style>
        body { font: 1.1rem/1.5 system-ui, sans-serif; margin: 20vh auto 0; max-width: 34rem; padding: 0 1.5rem }
        h1 { font-size: 1.5rem }
        </style>
        <h1>\(Self.escaped(self.title))</h1>
        <p>\(Self.escaped(self.text))</p>
        </html>

        """
    }

    private var reason: String {
        switch self.statusCode {
        case 200: "OK"
        case 400: "Bad Request"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 431: "Request Header Fields Too Large"
        case 502: "Bad Gateway"
        default: "Error"
        }
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
    }
}
