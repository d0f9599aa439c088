// The greeting of a proxy of any kind: what is sent, and what is left for the tunnel.
import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct ProxyGreetingTests {
    /// A conversation that a proxy may hold, and its end.
    struct Conversation: Sendable, CustomTestStringConvertible {
        let name: String
        let scheme: ProxyServer.Scheme
        var hasLogin = false
        /// The proxy's bytes.
        let answers: [UInt8]
        let outcome: ProxyGreeting.Outcome
        /// The number of its bytes that are read; nil for all of them.
        var byteCount: Int?

        var testDescription: String { "\(self.scheme.rawValue): \(self.name)" }

        func greeting() throws -> ProxyGreeting {
            let credential = ProxyServer.Credential(userName: Array("u".utf8), password: Array("p".utf8))
            return try ProxyGreeting(
                for: TransportEndpoint(isSecure: true, host: "origin.example", port: 443, target: "/"),
                through: ProxyServer(
                    scheme: self.scheme, host: "proxy.example", port: 1, credential: self.hasLogin ? credential : nil))
        }

        /// The bytes that are sent in the whole conversation.
        var questions: [UInt8] {
            let connect = "CONNECT origin.example:443 HTTP/1.1\r\nHost: origin.example:443\r\n"
            switch self.scheme {
            case .http, .https:
                return Array((connect + (self.hasLogin ? "Proxy-Authorization: Basic dTpw\r\n" : "") + "\r\n").utf8)
            case .socks5:
                let request = [5, 1, 0, 3, 14] + Array("origin.example".utf8) + [1, 0xBB]
                return (self.hasLogin ? [5, 2, 0, 2, 1, 1, 0x75, 1, 0x70] : [5, 1, 0]) + request
            }
        }
    }

    private static func http(
        _ name: String, _ text: String, _ outcome: ProxyGreeting.Outcome, reading byteCount: Int? = nil
    ) -> [Conversation] {
        [ProxyServer.Scheme.http, .https].flatMap { scheme in
            [false, true].map { hasLogin in
                Conversation(
                    name: name, scheme: scheme, hasLogin: hasLogin, answers: Array(text.utf8), outcome: outcome,
                    byteCount: byteCount)
            }
        }
    }

    private static func socks(
        _ name: String, login: Bool = false, _ answers: [UInt8], _ outcome: ProxyGreeting.Outcome,
        reading byteCount: Int? = nil
    ) -> Conversation {
        Conversation(
            name: name, scheme: .socks5, hasLogin: login, answers: answers, outcome: outcome, byteCount: byteCount)
    }

    private static let page = "<!DOCTYPE html><html><body>Sign in</body></html>"
    private static let alert: [UInt8] = [0x15, 3, 1, 0, 2, 2, 40]

    static let successes =
        Self.http("established", "HTTP/1.1 200 Connection established\r\n\r\n", .established)
        + Self.http("fields", "HTTP/1.0 200 OK\r\nVia: x\r\nContent-Length: 9\r\n\r\n", .established)
        + Self.http("an interim response", "HTTP/1.1 100 x\r\n\r\nHTTP/1.1 200 x\n\n", .established)
        + [
            Self.socks("an IPv4 address", [5, 0, 5, 0, 0, 1, 1, 2, 3, 4, 5, 6], .established),
            Self.socks("an IPv6 address", [5, 0, 5, 0, 0, 4] + [UInt8](1...18), .established),
            Self.socks("no name", [5, 0, 5, 0, 0, 3, 0, 0, 80], .established),
            Self.socks("a name", [5, 0, 5, 0, 0, 3, 5] + Array("a.bcd".utf8) + [0, 80], .established),
            Self.socks("a login", login: true, [5, 2, 1, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0], .established),
            Self.socks("a login, not wanted", login: true, [5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0], .established),
        ]

    static let failures =
        Self.http("refused", "HTTP/1.1 403 No\r\n\r\n", .failed(.proxyRefused(statusCode: 403)))
        + Self.http(
            "a login is wanted", "HTTP/1.1 407 x\r\n\r\n\(Self.page)", .failed(.proxyRefused(statusCode: 407)),
            reading: 18)
        + Self.http("a page", Self.page, .failed(.notHTTP), reading: 0)
        + Self.http("SOCKS", "\u{5}\u{0}", .failed(.notHTTP), reading: 0)
        + Self.http("TLS", "\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{28}", .failed(.notHTTP), reading: 0)
        + Self.http(
            "a page behind an interim response", "HTTP/1.1 100 x\r\n\r\n\(Self.page)", .failed(.notHTTP), reading: 18)
        + [
            Self.socks("refused", [5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0], .failed(.socksRefused(code: 2)), reading: 4),
            Self.socks("unknown code", [5, 0, 5, 0x5B], .failed(.socksRefused(code: 0x5B))),
            Self.socks(
                "a login is wanted", [5, 0xFF], .failed(.socksAuthenticationRefused(.credentialMissing))),
            Self.socks(
                "a wrong login", login: true, [5, 2, 1, 1],
                .failed(.socksAuthenticationRefused(.credentialRefused))),
            Self.socks("a page", Array(Self.page.utf8), .failed(.notSOCKS), reading: 1),
            Self.socks("HTTP", Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), .failed(.notSOCKS), reading: 1),
            Self.socks("TLS", Self.alert, .failed(.notSOCKS), reading: 1),
            Self.socks("SOCKS 4", [0, 0x5B, 0, 0, 0, 0, 0, 0], .failed(.notSOCKS), reading: 1),
            Self.socks("a page behind the method", [5, 0] + Array(Self.page.utf8), .failed(.notSOCKS), reading: 3),
            Self.socks("TLS behind the login", login: true, [5, 2, 1, 0] + Self.alert, .failed(.notSOCKS), reading: 5),
        ]

    static let conversations = Self.successes + Self.failures

    /// The whole behaviour of a greeting for pieces of the proxy's bytes.
    struct Course: Equatable {
        var sent: [UInt8] = []
        var byteCount = 0
        var outcome = ProxyGreeting.Outcome.incomplete
    }

    private static func course(of conversation: Conversation, _ pieces: [ArraySlice<UInt8>]) throws -> Course {
        var greeting = try conversation.greeting()
        var course = Course()
        course.sent += greeting.takeBytesToSend()
        for piece in pieces {
            var position = 0
            piece.withUnsafeBytes { course.outcome = greeting.receive($0, at: &position) }
            course.byteCount += position
            course.sent += greeting.takeBytesToSend()
            // Of a piece everything is the proxy's, unless the outcome is known.
            #expect(position == piece.count || course.outcome != .incomplete)
        }
        return course
    }

    @Test(arguments: Self.conversations)
    func aConversationHasItsEnd(_ conversation: Conversation) throws {
        let course = try Self.course(of: conversation, [conversation.answers[...]])
        #expect(course.outcome == conversation.outcome)
        #expect(course.byteCount == conversation.byteCount ?? conversation.answers.count)
        if conversation.outcome == .established, conversation.name != "a login, not wanted" {
            #expect(course.sent == conversation.questions)
        }
    }

    @Test(arguments: Self.conversations)
    func splittingTheAnswersDoesNotChangeTheOutcome(_ conversation: Conversation) throws {
        let bytes = conversation.answers
        let whole = try Self.course(of: conversation, [bytes[...]])
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]]
                #expect(try Self.course(of: conversation, pieces) == whole)
            }
        }
        #expect(try Self.course(of: conversation, bytes.indices.map { bytes[$0...$0] }) == whole)
    }

    @Test(arguments: Self.conversations)
    func truncatedAnswersAreIncomplete(_ conversation: Conversation) throws {
        let byteCount = conversation.byteCount ?? conversation.answers.count
        for count in 0..<byteCount {
            let course = try Self.course(of: conversation, [conversation.answers[..<count]])
            #expect(course.outcome == .incomplete)
            #expect(course.byteCount == count)
        }
    }

    @Test(arguments: Self.successes)
    func theFirstBytesOfTheTunnelAreLeft(_ conversation: Conversation) throws {
        let bytes = conversation.answers
        let whole = try Self.course(of: conversation, [bytes[...]])
        for rest in [[0], [5, 0, 0, 1], [22, 3, 3, 0, 1], Array("\r\nHTTP/1.1 101 x\r\n\r\n".utf8)] as [[UInt8]] {
            let all = bytes + rest
            for cut in 0...all.count {
                #expect(try Self.course(of: conversation, [all[..<cut], all[cut...]]) == whole)
            }
        }
    }

    @Test(arguments: Self.conversations)
    func readingBeginsAtThePosition(_ conversation: Conversation) throws {
        for before in [1, 2, 100] {
            let bytes = [UInt8](repeating: 0x16, count: before) + conversation.answers
            var greeting = try conversation.greeting()
            var position = before
            let outcome = bytes.withUnsafeBytes { greeting.receive($0, at: &position) }
            #expect(outcome == conversation.outcome)
            #expect(position == before + (conversation.byteCount ?? conversation.answers.count))
        }
    }

    @Test(arguments: Self.conversations)
    func outcomeDoesNotChangeWithLaterBytes(_ conversation: Conversation) throws {
        var greeting = try conversation.greeting()
        var position = 0
        _ = conversation.answers.withUnsafeBytes { greeting.receive($0, at: &position) }
        for bytes in [conversation.answers, [5, 0], Array("HTTP/1.1 200 x\r\n\r\n".utf8), []] {
            var position = 0
            #expect(bytes.withUnsafeBytes { greeting.receive($0, at: &position) } == conversation.outcome)
            #expect(position == 0)
        }
    }

    @Test(arguments: ProxyServer.Scheme.allCases)
    func greetingBytesAreSentOnce(through scheme: ProxyServer.Scheme) throws {
        var greeting = try Self.socks("", [], .incomplete).greeting()
        if scheme != .socks5 { greeting = try Self.http("", "", .incomplete)[0].greeting() }
        #expect(!greeting.takeBytesToSend().isEmpty)
        #expect(greeting.takeBytesToSend().isEmpty)
        var position = 0
        #expect(greeting.receive(UnsafeRawBufferPointer(start: nil, count: 0), at: &position) == .incomplete)
        #expect(greeting.takeBytesToSend().isEmpty && position == 0)
    }

    /// A proxy that answers before it is asked still receives the requests, before any byte goes through the tunnel.
    @Test func earlyAnswersLeaveTheQuestionsToBeSent() throws {
        for conversation in Self.successes where conversation.name != "a login, not wanted" {
            var greeting = try conversation.greeting()
            var position = 0
            #expect(conversation.answers.withUnsafeBytes { greeting.receive($0, at: &position) } == .established)
            #expect(greeting.takeBytesToSend() == conversation.questions)
        }
    }
}
