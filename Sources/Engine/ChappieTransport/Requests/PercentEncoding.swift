/// Percent-encoding (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// Encodes all but the unreserved characters (RFC 3986 section 2.3), as for a segment of a path, and for names and
    /// values of a query or a form.
    package static func encode(_ text: String) -> String {
        text.utf8.reduce(into: "") { encoded, byte in
            let scalar = Unicode.Scalar(byte)
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~": encoded.unicodeScalars.append(scalar)
            default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }
}
