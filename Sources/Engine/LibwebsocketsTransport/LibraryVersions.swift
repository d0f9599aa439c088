import CLibwebsocketsShim

/// The versions of the libraries that carry connections, as they give them at run time.
package enum LibraryVersions {
    /// libwebsockets, such as `4.1.6`.
    package static var libwebsockets: String { Self.number(clws_version()) }
    /// OpenSSL, such as `3.0.19`.
    package static var tls: String { Self.number(clws_tls_version()) }
    /// The names and versions of both.
    package static var ofConnections: [(name: String, version: String)] {
        [("libwebsockets", Self.libwebsockets), ("OpenSSL", Self.tls)]
    }

    /// Returns the text without what distributors append to the number.
    private static func number(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "unknown" }
        return String(String(cString: text).prefix { $0.isNumber || $0 == "." })
    }
}
