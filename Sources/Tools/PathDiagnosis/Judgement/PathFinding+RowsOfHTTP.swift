// The part of the table of the faults that is about answers to HTTP and the credential. Pure.

extension PathFinding {
    /// The rows of pages that answer in the server's place, or may do so.
    var rowOfPage: Row {
        switch self {
        case .captivePortal:
            Row(
                .http, .everything, "a captive portal answers in the server's place",
                [
                    "Open any page in a browser, and agree to what the network asks.",
                    "If it asks nothing, check the base URL; a proxy may stand in between.",
                ])
        case .signInPage:
            Row(
                .http, .everything, "a sign-in page answers in the server's place",
                ["Sign in with a browser on this network, or have the server's name excepted."])
        case .blockPage:
            Row(
                .http, .everything, "a page that blocks the request answers in the server's place",
                [
                    "Try another network or region, without a VPN.",
                    "If that does not help, ask the server's operator, or the network's.",
                ])
        case .asksCredential:
            Row(
                .http, .doubt,
                "a web page asks for a credential, which may be the server's or that of something on the path",
                [
                    "Use https, if the server has it: after such a page the key is sent to a verified server only.",
                    "If the page is not the server's, sign in with a browser on this network.",
                ])
        case .limited:
            Row(
                .http, .everything, "a web page says that there were too many requests",
                [
                    "Try again in a few minutes.",
                    "If it stays so, try another network: the limit may be on an address that many share.",
                ])
        default: Self.missing
        }
    }

    /// The rows of HTTP.
    var rowOfHTTP: Row {
        switch self {
        case .responsesLimited:
            Row(
                .http, .doubt, "requests are limited at this time, so that responses over HTTP were not examined",
                ["Try again later: turns are refused in the same way until then."])
        case .wrongAddress:
            Row(
                .http, .everything, "the API is not at this address",
                ["Check the path of the base URL: most end with /v1."])
        case .noResponses:
            Row(
                .http, .everything,
                "the server answers, but does not have the API at this address (many have Chat Completions only)",
                [
                    "Set the dialect that it speaks (--dialect responses, chat or messages), or name the server (--endpoint).",
                    "Check the path of the base URL: the API may be at another.",
                ])
        case .notOffered:
            Row(
                .http, .http, "the server has no responses over HTTP at this address",
                ["Use a WebSocket, which the engine does unless HTTP alone is set (--http-only)."])
        case .redirected:
            Row(
                .http, .everything, "the server redirects the request",
                ["Check the scheme and the path of the base URL."])
        case .gatewayError:
            Row(
                .http, .everything, "a gateway answers that it does not reach the server",
                ["Try again in a moment; if it stays so, ask the operator of the server or of the proxy."])
        case .serverError:
            Row(
                .http, .everything, "the server answers with an error of its own",
                ["Try again in a moment; if it stays so, tell the server's operator."])
        case .needsTLS:
            Row(
                .http, .everything, "the server has TLS on this port, and the base URL begins with http",
                [
                    "Check the port: if the server has TLS there, the base URL begins with https.",
                    "If a gateway of your own is at this port, have it use TLS with the server behind it.",
                ])
        case .notHTTP:
            Row(
                .http, .everything, "what answers does not speak HTTP/1.1",
                [
                    "Check the scheme and the port of the base URL; a proxy or a sign-in page may stand in between.",
                    "If the server speaks HTTP/2 alone, have it speak HTTP/1.1 too.",
                ])
        case .httpCut:
            Row(
                .http, .http, "the connection is cut before an answer to HTTP",
                ["Check that the port belongs to the API; something on the path may block it."])
        case .httpSilent:
            Row(
                .http, .http, "HTTP requests are not answered",
                [
                    "Check that the server runs; something on the path may hold requests or answers back.",
                    "If the server is slow, allow more time (--connect-timeout, --first-event-timeout).",
                ])
        default: Self.missing
        }
    }

    /// The rows of the credential.
    var rowOfCredential: Row {
        switch self {
        case .credentialWithheld:
            Row(
                .http, .doubt,
                "the key was not sent over plain http to another machine, so that the answer to a request with it was not"
                    + " examined",
                [
                    "Check the path of the base URL: most end with /v1.",
                    "If it is right, use https, if the server has it, or examine the server from its own machine or through a"
                        + " tunnel (ssh -L): there the key is sent.",
                    "If the answer is not the server's, open any page in a browser, or ask the network's operator.",
                ])
        case .credentialRefused:
            Row(
                .credential, .everything, "the server does not accept the credential",
                [
                    "Check the key (CHAPPIE_API_KEY, OPENAI_API_KEY), and that it is one for this server.",
                    "If it is that of an account, sign in again (chappie login).",
                    "If another login is asked for, a gateway stands before the API: ask its operator for the API's address.",
                ])
        case .credentialForbidden:
            Row(
                .credential, .everything, "the server does not allow the request with this credential",
                [
                    "Check what the key is allowed, and from which regions.",
                    "Ask for access, or use another key or another account.",
                ])
        case .credentialUnavailable:
            Row(
                .credential, .everything, "there is no credential to send, because its source fails",
                [
                    "If it is that of an account, sign in again (chappie login).",
                    "If a program gives it, look for the error that the program's source of credentials throws.",
                ])
        case .credentialUnusable:
            Row(
                .credential, .everything, "the credential cannot be sent: it has a line break or a control character",
                [
                    "Remove the line break at the end of the key (CHAPPIE_API_KEY, OPENAI_API_KEY): a secret that was"
                        + " made from a file has its line feed, and a file from Windows ends its lines with CR."
                ])
        case .credentialForm:
            Row(
                .credential, .hint, "the key has spaces or quotation marks around it, which are sent as a part of it",
                [
                    "Remove them from the key (CHAPPIE_API_KEY, OPENAI_API_KEY), if they do not belong to it: docker"
                        + " --env-file, for one, keeps the quotation marks of a value."
                ])
        default: Self.missing
        }
    }
}
