import PlatformFoundation
import StreamTransport
import TransportSurface

// The configuration as the transport takes it. Pure but for the random name of a connection.

extension WebSocketConfiguration {
    /// The most bytes of all subprotocols together, with their separators.
    static let subprotocolByteLimit = 4 << 10

    /// The fields of a refusal that are read in any case.
    static let fieldNamesOfRefusals = ["content-type", "location", "retry-after", "www-authenticate"]

    static let subprotocolFieldName = "sec-websocket-protocol"

    /// The fault of a property; nil when the opening handshake can be sent.
    var fault: ChappieArgumentError? {
        if let fault = TransportEndpoint.fault(of: self.url, named: "url") { return Self.argument("url", fault) }
        if let fault = TextRule.fields(self.additionalFields, named: "additionalFields") {
            return ChappieArgumentError("additionalFields", "cannot be sent: \(fault)")
        }
        if let reason = self.faultOfSubprotocols { return ChappieArgumentError("subprotocols", reason) }
        if let fault = self.tls.fault { return ChappieArgumentError("tls", "cannot be used: \(fault)") }
        return self.connectionID.flatMap(TextRule.line).map { ChappieArgumentError("connectionID", $0) }
    }

    /// Returns an error for a fault that begins with the name of the argument.
    private static func argument(_ name: String, _ fault: String) -> ChappieArgumentError {
        ChappieArgumentError(name, String(fault.dropFirst(name.count + 1)))
    }

    private var faultOfSubprotocols: String? {
        // RFC 6455 section 4.1: tokens that differ.
        for subprotocol in self.subprotocols {
            if let fault = TextRule.token(subprotocol) { return "have a member that \(fault)" }
        }
        guard Set(self.subprotocols).count == self.subprotocols.count else { return "have a member twice" }
        let byteCount = self.subprotocols.reduce(0) { $0 + $1.utf8.count + 2 }
        return byteCount > Self.subprotocolByteLimit ? "have more than \(Self.subprotocolByteLimit) bytes" : nil
    }

    /// Returns the request for the opening handshake; nil when the address cannot be used.
    func request() -> TransportRequest? {
        guard let endpoint = TransportEndpoint(url: self.url) else { return nil }
        var request = TransportRequest(
            endpoint: endpoint, exchange: .webSocket(compression: self.compression.offer),
            fields: self.additionalFields.map { HTTPField($0.name, $0.value) },
            capturedFieldNames: [Self.subprotocolFieldName] + self.capturedNames)
        request.subprotocols = self.subprotocols
        request.limits = self.limits.ofTransport
        request.timeouts = self.timeouts.ofTransport
        return request
    }

    private var capturedNames: [String] {
        let names = self.capturedFieldNames.map { $0.lowercased() }
        return names + Self.fieldNamesOfRefusals.filter { !names.contains($0) }
    }

    /// The name of the connection.
    var nameOfConnection: String { self.connectionID ?? UUID().uuidString.lowercased() }
}

extension WebSocketLimits {
    /// The limits with every number in its range.
    var bounded: Self {
        var copy = self
        copy.messageByteCount = self.messageByteCount.boundedByteCount
        copy.highWatermark = max(1, self.highWatermark.boundedByteCount)
        copy.lowWatermark = min(self.lowWatermark.boundedByteCount, copy.highWatermark - 1)
        copy.sendWatermark = self.sendWatermark.boundedByteCount
        copy.refusalByteCount = self.refusalByteCount.boundedByteCount
        return copy
    }

    fileprivate var ofTransport: TransportLimits {
        let bounded = self.bounded
        var limits = TransportLimits()
        limits.messageByteCount = bounded.messageByteCount
        limits.highWatermark = bounded.highWatermark
        limits.lowWatermark = bounded.lowWatermark
        return limits
    }
}

extension WebSocketTimeouts {
    fileprivate var ofTransport: TransportTimeouts {
        var timeouts = TransportTimeouts()
        timeouts.connect = self.connect?.bounded
        timeouts.pingInterval = self.pingInterval?.bounded
        timeouts.pongTimeout = self.pongTimeout.bounded
        timeouts.close = self.close.bounded
        return timeouts
    }
}
