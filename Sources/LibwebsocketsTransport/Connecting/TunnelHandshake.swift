import StreamTransport

/// Asks a proxy for a tunnel, and reads its answer (RFC 9110 section 9.3.6).
///
/// Pure: bytes in, a verdict out. Of the answer only the status code counts. A body that a success announces is none:
/// what follows the header section is the tunnel's.
struct TunnelHandshake {
    /// What has become of the question.
    typealias Answer = ProxyGreeting.Outcome

    /// What one piece of what the proxy sent has given.
    struct Progress: Equatable {
        /// How many of its bytes belong to the answer.
        let byteCount: Int
        /// What is known with them.
        let answer: Answer
    }

    private enum State {
        /// So many bytes of `HTTP/1.1 200` are there, and of a status code these digits.
        case protocolAndCode(byteCount: Int, code: Int)
        /// What the status line says besides.
        case reason(code: Int)
        /// A field line, of which something other than its end was there or not.
        case field(code: Int, isEmpty: Bool)
    }

    /// The most bytes of the answer, interim responses included.
    static let byteCountLimit = 32 << 10

    private var state = State.protocolAndCode(byteCount: 0, code: 0)
    private var byteCount = 0

    /// What a proxy is asked.
    static func request(for endpoint: TransportEndpoint, through proxy: ProxyServer) -> [UInt8] {
        let authority = "\(RequestFields.bracketed(endpoint.host)):\(endpoint.port)"
        var text = "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n"
        if let credential = proxy.credential {
            text += "Proxy-Authorization: \(credential.basicAuthorization)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    /// Reads what the proxy sent next.
    mutating func receive(_ bytes: some Sequence<UInt8>) -> Progress {
        var count = 0
        for byte in bytes {
            guard self.byteCount < Self.byteCountLimit else {
                return Progress(
                    byteCount: count, answer: .failed(.headerSectionTooLarge(limit: Self.byteCountLimit)))
            }
            count += 1
            self.byteCount += 1
            let answer = self.receive(byte)
            if answer != .incomplete { return Progress(byteCount: count, answer: answer) }
        }
        return Progress(byteCount: count, answer: .incomplete)
    }

    private mutating func receive(_ byte: UInt8) -> Answer {
        switch self.state {
        case .protocolAndCode(let count, let code): self.receive(byte, at: count, code)
        case .reason(let code): byte == Self.lineFeed ? self.statusLineEnded(code) : .incomplete
        case .field(let code, let isEmpty): self.receiveField(byte, code, isEmpty)
        }
    }

    /// A byte of `HTTP/1.1 200` (RFC 9112 section 4); any minor version will do.
    private mutating func receive(_ byte: UInt8, at index: Int, _ code: Int) -> Answer {
        let isRight =
            switch index {
            case 7: Self.digits ~= byte
            case 8: byte == UInt8(ascii: " ")
            // A status code has three digits, and the first of them is not 0.
            case 9: UInt8(ascii: "1")...UInt8(ascii: "9") ~= byte
            case 10, 11: Self.digits ~= byte
            case 12: [UInt8(ascii: " "), Self.carriageReturn, Self.lineFeed].contains(byte)
            default: byte == Self.beginning[index]
            }
        guard isRight else { return .failed(.notHTTP) }
        if index == 12 {
            self.state = .reason(code: code)
            return byte == Self.lineFeed ? self.statusLineEnded(code) : .incomplete
        }
        let code = 9...11 ~= index ? code * 10 + Int(byte - UInt8(ascii: "0")) : code
        self.state = .protocolAndCode(byteCount: index + 1, code: code)
        return .incomplete
    }

    private mutating func statusLineEnded(_ code: Int) -> Answer {
        // No interim response switches protocols: 101 says something else about the connection.
        guard 100..<300 ~= code, code != 101 else { return .failed(.proxyRefused(statusCode: code)) }
        self.state = .field(code: code, isEmpty: true)
        return .incomplete
    }

    private mutating func receiveField(_ byte: UInt8, _ code: Int, _ isEmpty: Bool) -> Answer {
        switch byte {
        case Self.lineFeed where isEmpty && code >= 200:
            return .established
        case Self.lineFeed where isEmpty:
            // RFC 9110 section 15.2: the final response follows an interim one.
            self.state = .protocolAndCode(byteCount: 0, code: 0)
        case Self.lineFeed:
            self.state = .field(code: code, isEmpty: true)
        case Self.carriageReturn:
            break
        default:
            self.state = .field(code: code, isEmpty: false)
        }
        return .incomplete
    }

    private static let beginning = Array("HTTP/1.".utf8)
    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let lineFeed = UInt8(ascii: "\n")
}
