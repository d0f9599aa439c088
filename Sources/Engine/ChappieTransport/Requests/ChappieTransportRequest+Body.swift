public import PlatformFoundation
import TransportSurface

extension ChappieTransportRequest {
    /// Creates a request from a body as JSON text.
    ///
    /// Throws `ChappieArgumentError`, with the offset in bytes, when the text is not one JSON object.
    public init(bodyJSON: String) throws(ChappieArgumentError) {
        self.init(body: try BodyText.bytes(bodyJSON.utf8, of: "bodyJSON"))
    }

    /// Creates a request from a body as JSON text in UTF-8.
    ///
    /// Throws `ChappieArgumentError`, with the offset in bytes, when the data is not one JSON object.
    public init(bodyJSON: Data) throws(ChappieArgumentError) {
        self.init(body: try BodyText.bytes(bodyJSON, of: "bodyJSON"))
    }

    /// Creates a request from a value that `JSONEncoder` encodes as the whole body.
    ///
    /// Members are sorted by name; dates and data have the encoder's default form. Throws `ChappieArgumentError` for a
    /// value that cannot be encoded, with its place, and for one that is not encoded as an object, such as a text.
    public init(encoding body: some Encodable) throws(ChappieArgumentError) {
        self.init(body: try BodyText.bytes(encoding: body, of: "body"))
    }
}

extension ChappieTransportRequest {
    /// The fault of a property, for the error that ends the turn; nil when each can be sent.
    ///
    /// A fault that the caller has found itself comes first.
    var faultOfProperty: String? {
        if let fault = self.fault { return fault.fault }
        let words = [
            ("model", self.model), ("reasoningEffort", self.reasoningEffort), ("serviceTier", self.serviceTier),
        ]
        for case (let name, let text?) in words {
            if let fault = TextRule.line(text) { return "\(name) \(fault)" }
        }
        if let fault = TextRule.fields(self.fields, named: "fields") { return fault }
        if let number = self.resumption?.lastSequenceNumber, number < 0 { return "sequenceNumber is below 0" }
        return self.lane.flatMap(TextRule.lane).map { "lane \($0)" }
    }
}
