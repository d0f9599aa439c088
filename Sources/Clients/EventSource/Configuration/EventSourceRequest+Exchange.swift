import PlatformFoundation
import StreamTransport
import TransportSurface

// The request as it is sent, and what prevents it from being sent. No fault has a part of a value, which may be a
// secret.
extension EventSourceRequest {
    /// The fault of a property; nil when the request can be sent.
    var fault: ChappieArgumentError? {
        if let reason = self.faultOfURL { return ChappieArgumentError("url", reason) }
        if let reason = self.method == "CONNECT" ? "is CONNECT" : TextRule.token(self.method) {
            return ChappieArgumentError("method", reason)
        }
        if let fault = TextRule.fields(self.fields, named: "fields") {
            return ChappieArgumentError("fields", "cannot be sent: \(fault)")
        }
        if self.fields.contains(where: { $0.name.lowercased() == "last-event-id" }) {
            return ChappieArgumentError("fields", "have a Last-Event-ID, which is the property lastEventID")
        }
        if let reason = self.faultOfLastEventID { return ChappieArgumentError("lastEventID", reason) }
        return self.requestID.flatMap(TextRule.line).map { ChappieArgumentError("requestID", $0) }
    }

    private var faultOfURL: String? {
        if let fault = TransportEndpoint.fault(of: self.url, named: "url") { return String(fault.dropFirst(4)) }
        guard ["http", "https"].contains(self.url.scheme?.lowercased()) else {
            return "has another scheme than http and https"
        }
        let hasUser = self.url.user(percentEncoded: true) != nil || self.url.password(percentEncoded: true) != nil
        return hasUser ? "has user information, which belongs into the field Authorization" : nil
    }

    private var faultOfLastEventID: String? {
        let limit = EventSourceSession.lastEventIDByteCountLimit
        return self.lastEventID.utf8.count > limit
            ? "is longer than \(limit) bytes" : TextRule.fieldValue(self.lastEventID)
    }

    /// Returns the request as it is sent; nil when its address cannot be used.
    func exchange(offersCompression: Bool) -> EventSourceSession.Exchange? {
        guard let endpoint = TransportEndpoint(url: self.url) else { return nil }
        var own = [HTTPField("Accept", "text/event-stream")]
        // WHATWG HTML section 9.2.2: the cache mode is "no-store".
        own.append(HTTPField("Cache-Control", "no-cache"))
        if offersCompression { own.append(HTTPField("Accept-Encoding", "gzip, deflate")) }
        own.append(HTTPField("User-Agent", "chappie-transport/\(ChappieTransportVersion.current)"))
        let names = Set(self.fields.map { $0.name.lowercased() })
        let fields =
            own.filter { !names.contains($0.name.lowercased()) } + self.fields.map { HTTPField($0.name, $0.value) }
        return EventSourceSession.Exchange(method: self.method, endpoint: endpoint, fields: fields, body: self.body)
    }
}

extension EventSourceSession.Exchange {
    /// The methods whose content has a defined meaning, so that its absence is announced (RFC 9110 section 8.6).
    private static let methodsWithContent: Set = ["POST", "PUT", "PATCH"]

    /// Returns the transport's request.
    func transportRequest(_ configuration: EventSourceConfiguration) -> TransportRequest {
        let body = self.body ?? (Self.methodsWithContent.contains(self.method) ? [] : nil)
        var request = TransportRequest(
            endpoint: self.endpoint, exchange: body.map { .post(body: $0) } ?? .get, fields: self.fields)
        request.method = self.method
        request.capturesAllFields = true
        request.limits.messageByteCount = configuration.limits.eventByteCount
        request.limits.highWatermark = configuration.limits.highWatermark
        request.limits.lowWatermark = configuration.limits.lowWatermark
        request.timeouts.connect = configuration.timeouts.connect
        request.timeouts.pingInterval = configuration.timeouts.probeInterval
        return request
    }
}
