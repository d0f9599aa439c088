// One JSON object a line, with the fields in the order in which they are added (RFC 8259). Pure.
import PlatformFoundation

/// Builds one line; a field without a value is left out.
struct JSONLineWriter {
    private var text = "{"

    /// The object on a line of its own.
    var line: String { self.text + "}\n" }

    /// Adds a string.
    mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        self.begin(name)
        Self.append(value, to: &self.text)
    }

    /// Adds a whole number.
    mutating func add(_ name: String, _ value: Int?) {
        guard let value else { return }
        self.begin(name)
        self.text += String(value)
    }

    /// Adds a number; JSON has no infinity and no NaN, which are left out.
    mutating func add(_ name: String, _ value: Double?) {
        guard let value, value.isFinite else { return }
        self.begin(name)
        self.text += Int(exactly: value).map { String($0) } ?? "\(value)"
    }

    /// Adds a Boolean.
    mutating func add(_ name: String, _ value: Bool?) {
        guard let value else { return }
        self.begin(name)
        self.text += value ? "true" : "false"
    }

    /// Adds a point in time as RFC 3339 in UTC.
    ///
    /// Years beyond four digits have no such form, and dates before 1970 do not occur: both are left out.
    mutating func add(_ name: String, _ value: Date?) {
        guard let value, (0..<253_402_300_800).contains(value.timeIntervalSince1970) else { return }
        self.add(name, value.formatted(.iso8601))
    }

    /// Adds an object, with the fields that the closure adds to it.
    mutating func addObject(_ name: String, _ fill: (inout Self) -> Void) {
        self.begin(name)
        var object = Self()
        fill(&object)
        self.text += object.text + "}"
    }

    /// Adds an array of strings.
    mutating func add(_ name: String, _ values: [String]) {
        self.begin(name)
        self.text += "["
        for (index, value) in values.enumerated() {
            if index > 0 { self.text += "," }
            Self.append(value, to: &self.text)
        }
        self.text += "]"
    }

    /// Adds an array of objects, with the fields that the closure adds for each element.
    mutating func addObjects<Element>(_ name: String, _ elements: [Element], _ fill: (Element, inout Self) -> Void) {
        self.begin(name)
        self.text += "["
        for (index, element) in elements.enumerated() {
            if index > 0 { self.text += "," }
            var object = Self()
            fill(element, &object)
            self.text += object.text + "}"
        }
        self.text += "]"
    }

    private mutating func begin(_ name: String) {
        if self.text.utf8.count > 1 { self.text += "," }
        Self.append(name, to: &self.text)
        self.text += ":"
    }

    private static func append(_ value: String, to text: inout String) {
        text += "\""
        if value.unicodeScalars.contains(where: Self.needsEscape) {
            for scalar in value.unicodeScalars { Self.append(scalar, to: &text) }
        } else {
            text += value
        }
        text += "\""
    }

    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\"" || scalar == "\\" || Self.needsDigits(scalar)
    }

    /// Returns whether a scalar needs an escape.
    ///
    /// Beside those that JSON requires, that is every character that a terminal interprets, that some reader takes for
    /// the end of a line, or that changes the direction of writing (UAX 9 section 2), so that the object is one line,
    /// wherever it is printed.
    private static func needsDigits(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x2028, 0x2029: true
        default: scalar.changesDirection
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to text: inout String) {
        switch scalar {
        case "\"": text += "\\\""
        case "\\": text += "\\\\"
        case "\n": text += "\\n"
        case "\r": text += "\\r"
        case "\t": text += "\\t"
        case _ where Self.needsDigits(scalar):
            let digits = String(scalar.value, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: text.unicodeScalars.append(scalar)
        }
    }
}
