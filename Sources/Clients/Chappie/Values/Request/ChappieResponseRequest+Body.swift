public import ChappieTransport
public import PlatformFoundation

extension ChappieResponseRequest {
    /// Creates a request of a whole body, a JSON object in UTF-8, which is read when the turn begins.
    public init(bodyJSON: [UInt8]) {
        self.init([])
        self.bodyJSON = bodyJSON
    }

    /// Creates a request of a whole body as JSON text.
    ///
    /// Throws `ChappieArgumentError`, with the offset in bytes, when the text is not one JSON object.
    public init(bodyJSON: String) throws(ChappieArgumentError) {
        self.init(bodyJSON: try BodyText.bytes(bodyJSON.utf8, of: "bodyJSON"))
    }

    /// Creates a request of a whole body as JSON text in UTF-8.
    ///
    /// Throws `ChappieArgumentError`, with the offset in bytes, when the data is not one JSON object.
    public init(bodyJSON: Data) throws(ChappieArgumentError) {
        self.init(bodyJSON: try BodyText.bytes(bodyJSON, of: "bodyJSON"))
    }

    /// Creates a request from a value that `JSONEncoder` encodes as the whole body.
    ///
    /// Members are sorted by name; dates and data have the encoder's default form. Throws `ChappieArgumentError` for a
    /// value that cannot be encoded, with its place, and for one that is not encoded as an object, such as a text.
    public init(encoding body: some Encodable) throws(ChappieArgumentError) {
        self.init(bodyJSON: try BodyText.bytes(encoding: body, of: "body"))
    }
}
