extension String {
    /// Creates a text of a peer for one line of a log: valid, without characters that would move or hide others.
    ///
    /// Such characters, and bytes that are not UTF-8, become U+FFFD. Text over the limit is cut off at a scalar.
    init(printing bytes: some Collection<UInt8>, byteCountLimit: Int) {
        var text = String.UnicodeScalarView()
        var count = 0
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            let shown = scalar.isPrintable ? scalar : "\u{FFFD}"
            count += String(shown).utf8.count
            guard count <= byteCountLimit else { break }
            text.append(shown)
        }
        self.init(text)
    }
}

extension Unicode.Scalar {
    fileprivate var isPrintable: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
