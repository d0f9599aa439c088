import CLibwebsocketsShim

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

    /// Creates the text of a name in a certificate, from the shim's bytes up to the first zero.
    init(printingName bytes: UnsafeRawBufferPointer) {
        self.init(printing: bytes.prefix { $0 != 0 }, byteCountLimit: Int(CLWS_ISSUER_LIMIT))
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
