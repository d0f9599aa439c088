package import PlatformFoundation
import StreamTransport
import TransportSurface

/// A request for one document of any server, independent of a turn.
package struct DocumentRequest: Sendable {
    /// The address: http or https.
    package var url: URL
    /// The body and its media type; nil for a GET, otherwise the request is a POST.
    package var content: (type: String, body: [UInt8])?
    /// Fields beside `Accept`, `Content-Type` and `User-Agent`.
    package var fields: [(name: String, value: String)] = []

    /// Creates a request.
    package init(url: URL, content: (type: String, body: [UInt8])? = nil) {
        self.url = url
        self.content = content
    }

    /// Returns the transport's request; nil when the URL cannot be used.
    func transportRequest(_ configuration: ChappieTransportConfiguration) -> TransportRequest? {
        guard let endpoint = TransportEndpoint(url: self.url) else { return nil }
        var fields = [
            HTTPField("Accept", "application/json"),
            HTTPField("User-Agent", "chappie-transport/\(ChappieTransportVersion.current)"),
        ]
        if let content = self.content { fields.append(HTTPField("Content-Type", content.type)) }
        fields += self.fields.map { HTTPField($0.name, $0.value) }
        var request = TransportRequest(
            endpoint: endpoint, exchange: self.content.map { .post(body: $0.body) } ?? .get, fields: fields,
            capturedFieldNames: ["content-type", "retry-after"])
        request.limits.messageByteCount = max(0, configuration.limits.eventByteCount)
        request.limits.highWatermark = configuration.limits.highWatermark
        request.limits.lowWatermark = configuration.limits.lowWatermark
        request.timeouts.connect = configuration.timeouts.connect
        return request
    }
}
