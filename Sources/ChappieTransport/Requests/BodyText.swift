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
            let place = context.codingPath.isEmpty ? "" : " at \(CodingPlace.words(context.codingPath))"
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

/// The place of a value inside another one, in words.
package enum CodingPlace {
    /// Returns a path such as `items[2].name`; an element of an array has its index, and a value of a dictionary `*`, as
    /// its key may be content.
    package static func words(_ path: [any CodingKey]) -> String {
        path.reduce(into: "") { words, key in
            if let index = key.intValue, Self.isIndex(key) {
                words += "[\(index)]"
            } else {
                // The keys of dictionaries have a type of the library's own.
                let name = String(describing: type(of: key)).hasPrefix("_") ? "*" : key.stringValue
                words += words.isEmpty ? name : ".\(name)"
            }
        }
    }

    /// Returns whether a key is the index of an element, and not the name of a member.
    package static func isIndex(_ key: any CodingKey) -> Bool {
        key.intValue.map { key.stringValue == "Index \($0)" } ?? false
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
        case .notJSON, .notObject, .missingType, .invalidField, .tooLarge: "is not a JSON object"
        }
    }
}
