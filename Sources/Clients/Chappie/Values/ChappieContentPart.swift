import ResponseEvents

/// A part of a message, or of a tool's output.
///
/// ```swift
/// let question = ChappieInputMessage.user([
///     .text("What is in the picture?"), .image(url: "https://example.org/cat.png"),
/// ])
/// ```
public enum ChappieContentPart: Sendable, Equatable {
    /// Text.
    case text(String)
    /// A picture at an address: a URL that the server can read, or a `data:` URL with the picture in it.
    ///
    /// `detail` is `low`, `high` or `auto`; without one the server chooses.
    case image(url: String, detail: String? = nil)
    /// A picture that was uploaded before.
    case imageFile(id: String, detail: String? = nil)
    /// A file in the request itself: its name, and a `data:` URL.
    case file(name: String, dataURL: String)
    /// A file that was uploaded before.
    case fileReference(id: String)
    /// A file at a URL that the server can read.
    case fileURL(String)

    /// The text of a part that is text.
    public var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    /// The number of bytes of its content on the wire, before escapes.
    var byteCount: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .image(let url, _): url.utf8.count
        case .imageFile(let id, _): id.utf8.count
        case .file(let name, let dataURL): name.utf8.count + dataURL.utf8.count
        case .fileReference(let id): id.utf8.count
        case .fileURL(let url): url.utf8.count
        }
    }

    /// Returns the part as JSON text.
    ///
    /// Text of the model itself is sent back as `output_text`.
    func json(isOutput: Bool = false) -> [UInt8] {
        var object = JSONObjectText()
        switch self {
        case .text(let text):
            object.setText(isOutput ? "output_text" : "input_text", for: "type")
            object.setText(text, for: "text")
        case .image(let url, let detail):
            object.setText("input_image", for: "type")
            object.setText(url, for: "image_url")
            if let detail { object.setText(detail, for: "detail") }
        case .imageFile(let id, let detail):
            object.setText("input_image", for: "type")
            object.setText(id, for: "file_id")
            if let detail { object.setText(detail, for: "detail") }
        case .file(let name, let dataURL):
            object.setText("input_file", for: "type")
            object.setText(name, for: "filename")
            object.setText(dataURL, for: "file_data")
        case .fileReference(let id):
            object.setText("input_file", for: "type")
            object.setText(id, for: "file_id")
        case .fileURL(let url):
            object.setText("input_file", for: "type")
            object.setText(url, for: "file_url")
        }
        return object.json
    }
}

extension JSONObjectText {
    /// Sets a member to a text.
    mutating func setText(_ text: String, for name: String) { self[name] = JSONText.string(text)[...] }

    /// Sets a member to a value that is JSON text already.
    mutating func setJSON(_ json: String, for name: String) { self[name] = Array(json.utf8)[...] }

    /// Returns the text of a member; nil for one that is not a text.
    func text(of name: String) -> String? {
        guard let json = self[name], json.first == UInt8(ascii: "\"") else { return nil }
        guard case .string(let text) = JSONDocumentValue(text: json) else { return nil }
        return text
    }
}
