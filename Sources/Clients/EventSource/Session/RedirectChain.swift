import HTTPProtocol
import StreamTransport
import TransportSurface

/// The requests of one attempt, from the first one over all redirects: WHATWG Fetch, "HTTP-redirect fetch".
///
/// A value of one attempt.
struct RedirectChain: Sendable {
    /// A request that was sent, for the search for loops.
    private struct Visit: Hashable, Sendable {
        let method: String
        let endpoint: TransportEndpoint
    }

    /// The newest request.
    private(set) var exchange: EventSourceSession.Exchange
    private let credentialFieldNames: Set<String>
    private var visits: Set<Visit>
    /// Indicates whether all redirects were permanent (RFC 9110 sections 15.4.2 and 15.4.9).
    private var isPermanent = true
    /// Indicates whether a redirect has led from a request with an effect to a GET.
    private var hasBecomeGet = false

    /// The number of redirects.
    private(set) var count = 0

    /// Begins with a request.
    init(_ exchange: EventSourceSession.Exchange, credentialFieldNames: Set<String>) {
        self.exchange = exchange
        self.credentialFieldNames = credentialFieldNames
        self.visits = [Visit(method: exchange.method, endpoint: exchange.endpoint)]
    }

    /// The request with which later attempts begin, once its answer is an event stream; nil for the one before.
    ///
    /// A permanent redirect is remembered, a temporary one is asked for again (RFC 9110 section 15.4). A request with
    /// an effect that was answered with the address of its stream is not sent again, but the stream is asked for.
    var lastingRequest: EventSourceSession.Exchange? {
        self.count > 0 && (self.isPermanent || self.hasBecomeGet) ? self.exchange : nil
    }

    /// Follows a redirect.
    mutating func follow(_ head: ResponseHead, maximum: Int) throws(EventSourceSession.RedirectFault) {
        guard let location = head.value(of: "location"), !location.isEmpty else { throw .locationMissing }
        guard self.count < maximum else { throw .tooMany }
        guard let endpoint = self.exchange.endpoint.resolving(location: location) else { throw .locationInvalid }
        guard endpoint.isSecure || !self.exchange.endpoint.isSecure else { throw .insecure }
        var next = self.exchange
        if Self.becomesGet(next.method, statusCode: head.statusCode) {
            self.hasBecomeGet = self.hasBecomeGet || !next.isIdempotent
            next = next.asGet
        }
        if endpoint.origin != next.endpoint.origin {
            next.fields.removeAll {
                FieldSecrets.isSecret($0.name) || self.credentialFieldNames.contains($0.name.lowercased())
            }
        }
        next.endpoint = endpoint
        guard self.visits.insert(Visit(method: next.method, endpoint: endpoint)).inserted else { throw .loop }
        self.isPermanent = self.isPermanent && [301, 308].contains(head.statusCode)
        self.count += 1
        self.exchange = next
    }

    /// Returns whether a redirect changes the method to GET and drops the content (RFC 9110 sections 15.4.2 to 15.4.4).
    private static func becomesGet(_ method: String, statusCode: Int) -> Bool {
        switch statusCode {
        case 301, 302: method == "POST"
        case 303: method != "GET" && method != "HEAD"
        default: false
        }
    }
}

extension EventSourceSession.Exchange {
    /// Indicates whether sending the request twice has no other effect than sending it once.
    var isIdempotent: Bool { RequestMethod(rawValue: self.method)?.isIdempotent ?? false }

    /// The request as a GET without content, and without the fields that describe it (WHATWG Fetch,
    /// "request-body-header name").
    var asGet: Self {
        var request = self
        request.method = "GET"
        request.body = nil
        let names = ["content-encoding", "content-language", "content-location", "content-type"]
        request.fields.removeAll { names.contains($0.name.lowercased()) }
        return request
    }

    /// The request without the field that each attempt sets itself.
    var withoutLastEventID: Self {
        var request = self
        request.fields.removeAll { $0.name.lowercased() == "last-event-id" }
        return request
    }
}
