// The length of a message's body (RFC 9112 section 6.3).
// Values without an owner.

/// The framing of a message's body.
package enum BodyFraming: Equatable, Sendable {
    /// The head is the whole response: the bytes that follow are not part of it.
    case none
    /// The head is followed by this number of bytes.
    case length(Int)
    /// The body is in chunks (RFC 9112 section 7.1).
    case chunked
    /// The body ends with the connection.
    case untilClose

    /// Applies the rules of RFC 9112 section 6.3 in their order.
    init(of head: ResponseMessageHead, to method: RequestMethod) throws(HTTPError) {
        // Rules 1 and 2 come first: these responses have no body, whatever their fields say.
        switch head.statusCode {
        case 100..<200, 204, 304: self = .none
        case 200..<300 where method == .connect: self = .none
        case _ where method == .head: self = .none
        default: self = try Self.announced(by: head)
        }
    }

    /// Applies the rules to a request, which never lasts until the connection's end (rule 7).
    ///
    /// Where a client and a server, or a proxy between them, could disagree about the end of the request, it is refused:
    /// the rest would be read as a request of its own.
    init(ofRequestWith fields: FieldSection, minorVersion: Int) throws(RequestError) {
        let codings = fields.rawValues(of: "transfer-encoding")
        let length: Int?
        do throws(HTTPError) {
            length = try Self.length(fields.rawValues(of: "content-length"))
        } catch {
            throw .invalidBodyLength(error)
        }
        guard !codings.isEmpty else {
            self = length.map { $0 == 0 ? .none : .length($0) } ?? .none
            return
        }
        guard length == nil else { throw .invalidBodyLength(.conflictingLengths) }
        guard minorVersion > 0 else { throw .invalidBodyLength(.transferEncodingInHTTP10) }
        let names = codings.flatMap { $0.split(separator: UInt8(ascii: ",")) }
            .map { String(decoding: $0, as: UTF8.self).withoutSurroundingSpace.lowercased() }
        guard names.allSatisfy({ $0 == "chunked" }) else { throw .unsupportedTransferCoding }
        // A sender may not apply the coding twice (RFC 9112 section 6.1).
        guard names.count == 1 else { throw .invalidBodyLength(.unsupportedTransferCoding) }
        self = .chunked
    }

    private static func announced(by head: ResponseMessageHead) throws(HTTPError) -> Self {
        let codings = head.fields.rawValues(of: "transfer-encoding")
        let lengths = head.fields.rawValues(of: "content-length")
        guard !codings.isEmpty else { return try Self.length(lengths).map { .length($0) } ?? .untilClose }
        guard head.minorVersion > 0 else { throw .transferEncodingInHTTP10 }
        // Rule 3: `Transfer-Encoding` takes precedence. Readers of one field and of the other disagree about the end of
        // the message, so a second message may be hidden in it; bytes behind the body are not read here.
        // An application adds its own field line to that of its framework, and the body is in chunks once (reported:
        // kubernetes/ingress-nginx issue 11162, spring-projects/spring-boot issue 37646). A sender may not apply the
        // coding twice (RFC 9112 section 6.1): a single line that names it twice is refused.
        guard codings.allSatisfy({ $0.elementsEqual("chunked".utf8, by: { $0.lowercased == $1 }) }) else {
            throw .unsupportedTransferCoding
        }
        return .chunked
    }

    /// Returns the one number of all elements of all lines (rule 5); nil when there is no line.
    ///
    /// No known sender produces empty elements, so they are refused like other text.
    static func length(_ values: [ArraySlice<UInt8>]) throws(HTTPError) -> Int? {
        var length: Int?
        for value in values {
            for element in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let number = try Self.number(element)
                guard length == nil || length == number else { throw .conflictingLengths }
                length = number
            }
        }
        return length
    }

    private static func number(_ element: ArraySlice<UInt8>) throws(HTTPError) -> Int {
        let digits = element.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed()
        guard !digits.isEmpty else { throw .invalidContentLength }
        var number = 0
        for digit in digits {
            guard digit.isDigit else { throw .invalidContentLength }
            let (product, isProductTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isSumTooLarge) = product.addingReportingOverflow(Int(digit - .zero))
            guard !isProductTooLarge, !isSumTooLarge else { throw .invalidContentLength }
            number = sum
        }
        return number
    }
}
