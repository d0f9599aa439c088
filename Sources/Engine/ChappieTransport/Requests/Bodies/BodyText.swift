import PlatformFoundation
import ResponseEvents
import TransportSurface

/// Request bodies that a program gives as JSON text, or as a value of its own.
package enum BodyText {
    /// Returns JSON text of one object as bytes; throws its fault and the place.
    package static func bytes(
        _ json: some Sequence<UInt8>, of argument: String
    ) throws(ChappieArgumentError) -> [UInt8] {
        let bytes = Array(json)
        if let fault = JSONObjectFault(bytes) { throw ChappieArgumentError(argument, fault.reason) }
        do throws(ResponseEventError) {
            _ = try JSONObjectText(bytes)
        } catch {
            throw ChappieArgumentError(argument, error.reason)
        }
        return bytes
    }

    /// Returns a value as JSON text of one object, with members sorted by name.
    ///
    /// Dates, data and keys have the form that `JSONEncoder` gives them by default. Throws the place of a value that
    /// cannot be encoded, and the type of any other error that an `encode(to:)` has thrown.
    package static func bytes(
        encoding value: some Encodable, of argument: String
    ) throws(ChappieArgumentError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json: Data
        do {
            json = try encoder.encode(value)
        } catch let EncodingError.invalidValue(_, context) {
            let words = CodingPlace.words(ofNumberIn: value) ?? CodingPlace.words(context.codingPath)
            let place = words.isEmpty ? "" : " at \(words)"
            throw ChappieArgumentError(argument, "has a value\(place) that JSON cannot represent")
        } catch {
            throw ChappieArgumentError(argument, "cannot be encoded: its encode(to:) throws \(type(of: error))")
        }
        guard json.first == UInt8(ascii: "{") else {
            throw ChappieArgumentError(argument, "is encoded as another JSON value than an object")
        }
        return try self.bytes(json, of: argument)
    }
}

extension JSONObjectFault {
    /// The fault as the rest of a sentence.
    package var reason: String {
        switch self.kind {
        case .empty: "is empty"
        case .otherValue: "is not a JSON object: another value begins at offset \(self.offset)"
        case .surplus: "has more text behind its JSON object, at offset \(self.offset)"
        case .truncated: "ends at offset \(self.offset), inside its JSON object"
        case .unexpected: "has a byte at offset \(self.offset) that JSON does not allow there"
        }
    }
}

extension ResponseEventError {
    /// The fault as the rest of a sentence.
    fileprivate var reason: String {
        switch self {
        case .invalidUTF8: "is not UTF-8"
        case .tooDeep: "nests deeper than 512 levels"
        case .outOfMemory: "cannot be read: there is no memory left"
        case .notJSON, .notObject, .missingType, .invalidField, .tooLarge, .tooManyItems:
            "is not a JSON object"
        }
    }
}
