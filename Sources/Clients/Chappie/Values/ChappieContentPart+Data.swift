public import ChappieTransport
import PlatformFoundation
import TransportSurface

extension ChappieContentPart {
    /// Returns a picture in the request itself, from its bytes and its media type, such as `image/png`.
    ///
    /// Throws `ChappieArgumentError` for a text that is not a media type, and for a picture without bytes. `detail` is
    /// `low`, `high` or `auto`; without one the server chooses.
    public static func image(
        data: some Collection<UInt8>, mediaType: String, detail: String? = nil
    ) throws(ChappieArgumentError) -> Self {
        .image(url: try Self.dataURL(data, mediaType: mediaType), detail: detail)
    }

    /// Returns a file in the request itself, from its name, its bytes and its media type, such as `application/pdf`.
    ///
    /// Throws `ChappieArgumentError` for a name that is empty or has control characters, for a text that is not a media
    /// type, and for a file without bytes.
    public static func file(
        name: String, data: some Collection<UInt8>, mediaType: String
    ) throws(ChappieArgumentError) -> Self {
        if let fault = TextRule.line(name) { throw ChappieArgumentError("name", fault) }
        return .file(name: name, dataURL: try Self.dataURL(data, mediaType: mediaType))
    }

    /// Returns a `data:` URL (RFC 2397).
    private static func dataURL(
        _ data: some Collection<UInt8>, mediaType: String
    ) throws(ChappieArgumentError) -> String {
        if let fault = TextRule.mediaType(mediaType) { throw ChappieArgumentError("mediaType", fault) }
        guard !data.isEmpty else { throw ChappieArgumentError("data", "is empty") }
        return "data:\(mediaType);base64,\(Data(data).base64EncodedString())"
    }

    /// The fault of a text, with its name; nil when the part can be sent.
    var fault: ChappieArgumentError? {
        func fault(_ name: String, _ reason: String?) -> ChappieArgumentError? {
            reason.map { ChappieArgumentError(name, $0) }
        }
        switch self {
        case .text: return nil
        case .image(let url, let detail):
            return fault("url", TextRule.url(url, schemes: nil))
                ?? fault("detail", detail.flatMap(TextRule.word))
        case .imageFile(let id, let detail):
            return fault("id", TextRule.word(id)) ?? fault("detail", detail.flatMap(TextRule.word))
        case .file(let name, let dataURL):
            return fault("name", TextRule.line(name)) ?? fault("dataURL", TextRule.url(dataURL, schemes: ["data"]))
        case .fileReference(let id): return fault("id", TextRule.word(id))
        case .fileURL(let url): return fault("fileURL", TextRule.url(url, schemes: nil))
        }
    }
}

extension ChappieToolResult {
    /// The fault of a part of the output; nil when the output can be sent.
    var fault: ChappieArgumentError? {
        guard case .parts(let parts) = self.output else { return nil }
        return parts.fault(in: "result.parts")
    }
}

extension [ChappieContentPart] {
    /// Returns the first fault of a part, with its place in the list of this name.
    func fault(in list: String) -> ChappieArgumentError? {
        for (index, part) in self.enumerated() {
            if let fault = part.fault {
                return ChappieArgumentError("\(list)[\(index)].\(fault.argument)", fault.reason)
            }
        }
        return nil
    }
}
