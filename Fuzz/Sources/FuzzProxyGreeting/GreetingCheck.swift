// Feeds a greeting in several ways, and holds the results against each other.

import Invariants
import LibwebsocketsTransport
import StreamTransport

/// One proxy and its bytes.
struct GreetingCheck {
    /// All that is seen of a greeting.
    struct Course: Equatable {
        var sent: [UInt8] = []
        var byteCount = 0
        var outcome = ProxyGreeting.Outcome.incomplete
    }

    private let endpoint: TransportEndpoint
    private let proxy: ProxyServer
    private let bytes: [UInt8]

    /// Takes an input apart.
    init(_ reader: inout InputReader) {
        let settings = reader.byte()
        let scheme: ProxyServer.Scheme = settings & 1 == 0 ? .socks5 : .http
        let login = ProxyServer.Credential(userName: Array("user".utf8), password: Array("password".utf8))
        let host = settings & 4 == 0 ? "origin.example" : settings & 8 == 0 ? "192.0.2.1" : "2001:db8::1"
        self.endpoint = TransportEndpoint(isSecure: true, host: host, port: 443, target: "/")
        self.proxy = ProxyServer(
            scheme: scheme, host: "proxy.example", port: 1, credential: settings & 2 == 0 ? nil : login)
        self.bytes = Array(reader.rest)
    }

    /// Compares the greeting in one piece with that in some.
    func runBare(_ random: inout InputHash) {
        self.compareSplit(with: self.course(of: [self.bytes[...]]), &random)
    }

    /// Compares the greeting in pieces of all kinds with its meaning.
    func run(_ random: inout InputHash) {
        let whole = self.course(of: [self.bytes[...]])
        self.checkMeaning(of: whole)
        let single = self.course(of: self.bytes.indices.map { self.bytes[$0...$0] })
        require(single == whole, "byte by byte \(single), as a whole \(whole)")
        for _ in 0..<4 { self.compareSplit(with: whole, &random) }
        guard whole.outcome != .incomplete else {
            require(whole.byteCount == self.bytes.count, "\(whole.byteCount) of \(self.bytes.count) bytes were read")
            return
        }
        // The bytes that follow are not the proxy's, and the outcome was unknown before the last byte. HTTP leaves an
        // invalid byte.
        var known = whole.byteCount
        if case .failed = whole.outcome { known = min(known + 1, self.bytes.count) }
        let alone = self.course(of: [self.bytes[..<known]])
        require(alone == whole, "without the tunnel \(alone), with it \(whole)")
        let cut = self.course(of: [self.bytes[..<max(0, whole.byteCount - 1)]])
        require(cut.outcome == .incomplete, "without its last byte \(cut)")
    }

    private func compareSplit(with whole: Course, _ random: inout InputHash) {
        let cuts = (0..<3).map { _ in Int.random(in: 0...self.bytes.count, using: &random) }.sorted()
        let places = [0] + cuts + [self.bytes.count]
        let pieces = zip(places, places.dropFirst()).map { self.bytes[$0..<$1] }
        let split = self.course(of: pieces)
        require(split == whole, "cut at \(cuts) \(split), as a whole \(whole)")
    }

    private func course(of pieces: [ArraySlice<UInt8>]) -> Course {
        var course = Course()
        guard var greeting = try? ProxyGreeting(for: self.endpoint, through: self.proxy) else {
            require(false, "no greeting for \(self.endpoint.host)")
            return course
        }
        course.sent += greeting.takeBytesToSend()
        for piece in pieces {
            var position = 0
            course.outcome = ExactCopy.lend(piece) { greeting.receive($0, at: &position) }
            require(position <= piece.count, "\(position) of \(piece.count) bytes were read")
            course.byteCount += position
            course.sent += greeting.takeBytesToSend()
        }
        return course
    }

    private func checkMeaning(of course: Course) {
        switch self.proxy.scheme {
        case .socks5:
            var model = SOCKSModel(bytes: self.bytes, proxy: self.proxy, endpoint: self.endpoint)
            let expected = model.course()
            require(course == expected, "\(course), and not \(expected)")
        case .http, .https:
            require(course.sent.starts(with: "CONNECT ".utf8), "\(course.sent) is no CONNECT")
            guard course.outcome == .established else { return }
            // Empty lines before the status line are passed over.
            let text = self.bytes[..<course.byteCount].filter { $0 != UInt8(ascii: "\r") }
                .drop { $0 == UInt8(ascii: "\n") }
            require(text.starts(with: "HTTP/1.".utf8), "a tunnel without HTTP")
            require(text.suffix(2).elementsEqual("\n\n".utf8), "a tunnel before the end of a header section")
            let lines = text.split(separator: UInt8(ascii: "\n"))
            require(lines.contains { $0.dropFirst(8).starts(with: " 2".utf8) }, "a tunnel without a success")
        }
    }
}
