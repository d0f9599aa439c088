// The table of the faults: layer, effect, words, remedies, settings. Pure.

extension PathFinding {
    /// The words and consequences of the fault.
    package var row: Row {
        switch self {
        case .descriptors, .resources, .trustAnchors, .clientCertificate, .proxyURL, .clock, .fewDescriptors,
            .otherScheme:
            self.rowOfEnvironment
        case .unknownName, .noNameServer, .slowName, .blockedName, .refused, .noRoute, .forbidden, .silent,
            .connectionFailed, .version6Silent, .version4Silent:
            self.rowOfConnecting
        case .proxyUnresolved, .proxyUnreachable, .proxyLoginMissing, .proxyLoginRefused, .proxyRefused, .proxyProtocol,
            .proxyCertificate, .proxySilent, .proxyCut:
            self.rowOfProxy
        case .inspected, .unknownIssuer, .incompleteChain, .expired, .authorityExpired, .notYetValid, .wrongHost,
            .certificate, .plainHTTP, .notTLS, .tlsRefused, .tlsCut, .tlsSilent:
            self.rowOfTLS
        case .captivePortal, .signInPage, .blockPage, .asksCredential, .limited:
            self.rowOfPage
        case .responsesLimited, .wrongAddress, .noResponses, .notOffered, .redirected, .gatewayError, .serverError,
            .needsTLS, .notHTTP, .httpCut, .httpSilent:
            self.rowOfHTTP
        case .credentialWithheld, .credentialRefused, .credentialForbidden, .credentialUnavailable, .credentialUnusable,
            .credentialForm:
            self.rowOfCredential
        case .webSocketNotOffered, .webSocketBlocked, .webSocketRefused, .webSocketUnauthorized, .webSocketLimited,
            .webSocketAltered, .webSocketContent, .webSocketCut, .webSocketSilent, .webSocketUnknown,
            .compressionBroken, .closedEarly, .largeMessages, .everyMessage, .damagedMessages, .pingsUnanswered,
            .pingsSlow:
            self.rowOfWebSocket
        case .buffered, .whole, .eventsCut, .eventsSilent, .eventsRefused, .eventsAltered, .idleCut, .idleAnswered:
            self.rowOfStreaming
        }
    }

    private var rowOfEnvironment: Row {
        switch self {
        case .descriptors:
            Row(
                .environment, .everything, "the process has no file descriptor left",
                ["Raise the limit (ulimit -n), or close what the process keeps open."])
        case .resources:
            Row(
                .environment, .everything, "the system opens no socket, or starts no thread",
                ["Check what the sandbox allows, and the limits of threads and memory (ulimit -u, ulimit -v)."])
        case .trustAnchors:
            Row(
                .environment, .everything, "the file of trusted authorities cannot be read",
                ["Check the path in SSL_CERT_FILE or --ca-file, and that it is a PEM file."],
                set: [.variable("SSL_CERT_FILE")])
        case .clientCertificate:
            Row(
                .environment, .everything, "the client's certificate or its key cannot be read",
                ["Check the paths of both, that the files are PEM files, and that the key is the certificate's."])
        case .proxyURL:
            Row(
                .environment, .everything, "the proxy's URL cannot be used",
                [
                    "Correct it (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or --proxy); its form is"
                        + " [SCHEME://][USER:PASSWORD@]HOST[:PORT]."
                ])
        case .clock:
            Row(
                .environment, .hint, "this machine's clock and the server's differ by more than five minutes",
                ["Set the clock that is wrong: whether certificates and credentials are valid depends on it."])
        case .fewDescriptors:
            Row(
                .environment, .quality, "the process may open few files and sockets",
                ["Raise the limit (ulimit -n)."])
        case .otherScheme:
            Row(
                .environment, .hint,
                "a variable names a proxy for the other scheme, http or https, and none names one for that of the base URL",
                ["Set HTTPS_PROXY for a URL with https, and HTTP_PROXY for one with http; ALL_PROXY is for both."])
        default: Self.missing
        }
    }

    private var rowOfConnecting: Row {
        switch self {
        case .unknownName:
            Row(
                .resolve, .everything, "the server's name is not known to this machine's resolver",
                [
                    "Check the spelling of the base URL.",
                    "A name with other letters than those of ASCII is to be given in its form with xn-- (RFC 5890).",
                    "If only the company's network or its VPN knows the name, connect to that.",
                    "If names are looked up by a proxy here, set HTTPS_PROXY (HTTP_PROXY for a URL with http).",
                ], set: [.proxyVariable])
        case .noNameServer:
            Row(
                .resolve, .everything, "no name server answers",
                [
                    "Check the network connection, the firewall, and the name servers in /etc/resolv.conf.",
                    "If names are found after a while, the first of those name servers may be dead: list another one first.",
                    "If --fast was given, leave it out: a look-up may take 5 s for each dead name server.",
                ])
        case .slowName:
            Row(
                .resolve, .quality, "the look-up of the name is slow",
                [
                    "The first of the name servers in /etc/resolv.conf may be dead: list another one first.",
                    "If questions for IPv6 addresses (AAAA) stay without an answer, ask the operator of the name server.",
                ])
        case .blockedName:
            Row(
                .resolve, .everything,
                "the resolver blocks the server's name: its answer is an address that leads nowhere",
                ["Use another name server, or have the name allowed."])
        case .refused:
            Row(
                .connect, .everything, "the server's machine refuses connections on this port",
                ["Check the port in the base URL, and that the server runs."])
        case .noRoute:
            Row(
                .connect, .everything, "there is no route to the server",
                ["Check the network connection of this machine."])
        case .forbidden:
            Row(
                .connect, .everything, "this machine forbids the connection",
                ["Check its firewall, and what the sandbox allows."])
        case .silent:
            Row(
                .connect, .everything, "something on the path drops the packets to the server",
                [
                    "If this network demands a proxy, set HTTPS_PROXY (HTTP_PROXY for a URL with http).",
                    "Have the firewall allow the server's port.",
                ], set: [.proxyVariable])
        case .connectionFailed:
            Row(
                .connect, .everything, "no TCP connection to the server is established",
                ["Check the network connection, and that the server runs."])
        case .version6Silent:
            Row(
                .connect, .quality, "IPv6 to the server is dropped on the path, while IPv4 works",
                ["Have IPv6 repaired on this network, or turn it off; until then each connection begins 250 ms later."])
        case .version4Silent:
            Row(
                .connect, .quality, "IPv4 to the server is dropped on the path, while IPv6 works",
                ["Have IPv4 repaired on this network; until then each connection may begin 250 ms later."])
        default: Self.missing
        }
    }

    private var rowOfProxy: Row {
        let check = "Check the proxy's URL (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or --proxy) and the network."
        let scheme = "Check the scheme of the proxy's URL: http, https and socks5 are different protocols."
        let variable = [Setting.proxyVariable]
        switch self {
        case .proxyUnresolved:
            return Row(.proxy, .everything, "the proxy's name is not known", [check], set: variable)
        case .proxyUnreachable:
            return Row(
                .proxy, .everything, "the proxy cannot be reached", [check, "Check that the proxy runs."],
                set: variable)
        case .proxyLoginMissing:
            return Row(
                .proxy, .everything, "the proxy demands a login, and its URL has none",
                ["Put the user name and the password into the proxy's URL, percent-encoded."], set: variable)
        case .proxyLoginRefused:
            return Row(
                .proxy, .everything, "the proxy refuses the login",
                [
                    "Correct the user name and the password in the proxy's URL; both are percent-encoded.",
                    "If it wants another kind of login, ask the proxy's operator.",
                ],
                set: variable)
        case .proxyRefused:
            return Row(
                .proxy, .everything, "the proxy refuses a tunnel to the server",
                [
                    "Ask the proxy's operator to allow the server's name and port.",
                    "If the server can be reached without the proxy, name it in NO_PROXY.",
                    "Check the base URL, and whether the server can be reached from the proxy.", check,
                ])
        case .proxyProtocol:
            return Row(
                .proxy, .everything, "what is at the proxy's address does not speak the protocol of its URL's scheme",
                ["Check the scheme and the port of the proxy's URL (http, https, socks5 or socks5h), and the network."],
                set: variable)
        case .proxyCertificate:
            return Row(
                .proxy, .everything, "the proxy's certificate is not accepted",
                [
                    "Trust its authority (SSL_CERT_FILE or --ca-file).",
                    "Check this machine's clock; if it is right, tell the proxy's operator.",
                    "Check the proxy's URL: https is for a proxy that is spoken to by TLS, http for one that is not.",
                ],
                set: [.variable("SSL_CERT_FILE")])
        case .proxySilent:
            return Row(
                .proxy, .everything, "the proxy does not answer",
                [check, scheme, "Ask the proxy's operator whether it can reach the server."])
        case .proxyCut:
            return Row(
                .proxy, .everything, "the proxy cuts the connection",
                [check, scheme, "Ask the proxy's operator: its log has the reason."])
        default: return Self.missing
        }
    }

    private var rowOfTLS: Row {
        switch self {
        case .inspected:
            Row(
                .tls, .everything, "a device on the path inspects TLS, and its authority is not trusted",
                [
                    "Set SSL_CERT_FILE to a PEM file with that authority and the system's; the network's operator has it.",
                    "Have the server's name excepted from inspection.",
                ], set: [.variable("SSL_CERT_FILE")])
        case .unknownIssuer:
            Row(
                .tls, .everything, "the authority that signed the server's certificate is not trusted",
                [
                    "Set SSL_CERT_FILE to a PEM file with that authority, if it is one that you know.",
                    "If it is a public one, the server may not send an intermediate certificate: tell its operator.",
                    "If it is neither, check the base URL, and open any page in a browser: a captive portal may answer.",
                ],
                set: [.variable("SSL_CERT_FILE")])
        case .incompleteChain:
            Row(
                .tls, .everything,
                "the server does not send the certificate of the authority that has signed its own, an intermediate one or"
                    + " a private root",
                [
                    "If it is an intermediate authority, tell the server's operator: its file needs that certificate too.",
                    "Until then, or for a private root, set SSL_CERT_FILE to a PEM file with it and the system's.",
                    "The certificate at the address in the server's one (openssl x509 -text, CA Issuers) tells them apart: a"
                        + " root is its own issuer.",
                ],
                set: [.variable("SSL_CERT_FILE")])
        case .authorityExpired:
            Row(
                .tls, .everything, "the certificate of an authority above the server's has expired",
                [
                    "Check this machine's clock; if it is right, tell the server's operator.",
                    "If the authority is one that this machine trusts, update its file (SSL_CERT_FILE or --ca-file).",
                ])
        case .expired:
            Row(
                .tls, .everything, "the server's certificate has expired",
                ["Check this machine's clock; if it is right, tell the server's operator."])
        case .notYetValid:
            Row(
                .tls, .everything, "the server's certificate is not valid yet",
                ["Check this machine's clock; if it is right, tell the server's operator."])
        case .wrongHost:
            Row(
                .tls, .everything, "the certificate is for another host",
                [
                    "Check the base URL.",
                    "Another server may answer in its place: a captive portal, or a wrong name server.",
                ]
            )
        case .certificate:
            Row(
                .tls, .everything, "the server's certificate is not accepted",
                ["Check the base URL, the network and the pinned keys, and tell the server's operator."])
        case .plainHTTP:
            Row(
                .tls, .everything, "the server has no TLS on this port, and the base URL begins with https",
                [
                    "Check the port: if the server has no TLS there, the base URL begins with http.",
                    "A captive portal may answer in its place: open any page in a browser.",
                ])
        case .notTLS:
            Row(
                .tls, .everything, "what answers on this port does not speak TLS",
                [
                    "Check the port: if the server has no TLS there, the base URL begins with http.",
                    "A firewall or a captive portal may answer in its place: ask the network's operator.",
                ])
        case .tlsRefused:
            Row(
                .tls, .everything, "the server refuses the TLS handshake",
                [
                    "Check whether it demands a client certificate, and which versions of TLS it speaks.",
                    "Check the base URL, and ask the server's operator.",
                ])
        case .tlsCut:
            Row(
                .tls, .everything, "the connection is cut during the TLS handshake",
                [
                    "Check the port: if the server has no TLS there, the base URL begins with http.",
                    "A firewall may block the server's name: ask the network's operator.", Row.demandOfProxy,
                ])
        case .tlsSilent:
            Row(
                .tls, .everything, "the TLS handshake is not answered",
                [
                    "Check the port: if the server has no TLS there, the base URL begins with http.",
                    "A firewall may drop it: ask the network's operator.", Row.demandOfProxy,
                ])
        default: Self.missing
        }
    }

    /// The row of a fault that the table's parts do not have; `PathFindingTests` shows that there is none.
    static var missing: Row { Row(.environment, .hint, "", []) }
}

extension PathFinding.Row {
    /// The remedy for a path on which the proxy is missing; it is left out where there is one.
    static let demandOfProxy = "If this network demands a proxy, set HTTPS_PROXY."

    /// The remedy for a fault behind a proxy that has accepted a tunnel, which precedes the others.
    static let suspicionOfProxy =
        "The proxy may answer in the server's place, or be none: check its URL (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or"
        + " --proxy), or name the server in NO_PROXY."
}
