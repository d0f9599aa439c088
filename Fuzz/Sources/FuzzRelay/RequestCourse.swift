// The requests of one connection, and a plain reading of them (RFC 9112).

import HTTPProtocol
import Invariants

/// The requests of one connection to a server.
struct RequestCourse: Course {
    private static let limits = RequestLimits(headByteCount: 300, fieldLineCount: 6, bodyByteCount: 60)

    private struct Request: Equatable {
        let head: RequestMessageHead
        var body: [UInt8] = []
        var isComplete = false
    }

    private var requests: [Request] = []
    private var error: RequestError?

    init(reading pieces: [ArraySlice<UInt8>]) {
        var reader = RequestReader(limits: Self.limits)
        do throws(RequestError) {
            for piece in pieces { try self.read(piece, &reader) }
        } catch {
            self.error = error
            // The part of a body before its error depends on the pieces; no handler receives it.
            if let last = self.requests.indices.last, !self.requests[last].isComplete { self.requests[last].body = [] }
        }
    }

    private mutating func read(_ piece: ArraySlice<UInt8>, _ reader: inout RequestReader) throws(RequestError) {
        var rest = piece
        while true {
            if self.requests.last?.isComplete ?? true {
                guard !rest.isEmpty else { return }
                var position = 0
                let head = try ExactCopy.lend(rest) { bytes throws(RequestError) in
                    try reader.readHead(bytes, at: &position)
                }
                rest = rest.dropFirst(position)
                guard let head else {
                    require(rest.isEmpty, "\(rest.count) bytes of a head were left")
                    return
                }
                self.requests.append(Request(head: head))
            }
            // Also without bytes: a request may have no body.
            var buffer = Array(rest)
            var result = Result<BodyPiece, RequestError>.success(
                BodyPiece(content: 0..<0, consumed: 0, isComplete: false))
            buffer.withUnsafeMutableBytes { memory in
                do throws(RequestError) { result = .success(try reader.readBody(memory)) } catch {
                    result = .failure(error)
                }
            }
            let read = try result.get()
            let last = self.requests.count - 1
            self.requests[last].body += buffer[read.content]
            self.requests[last].isComplete = read.isComplete
            rest = rest.dropFirst(read.consumed)
            if read.isComplete {
                reader = RequestReader(limits: Self.limits)
            } else if rest.isEmpty {
                return
            }
        }
    }

    // MARK: The plain reading

    func check(against bytes: [UInt8]) {
        var rest = bytes[...]
        for request in self.requests {
            for _ in 0..<2 where rest.starts(with: [0x0D, 0x0A]) { rest = rest.dropFirst(2) }
            var lines: [[UInt8]] = []
            while lines.last?.isEmpty != true {
                guard let end = rest.firstIndex(of: 0x0A) else { breakInvariant("a head has no end") }
                require(end > rest.startIndex && rest[end - 1] == 0x0D, "a single LF ended a line")
                lines.append(Array(rest[..<(end - 1)]))
                rest = rest[(end + 1)...]
            }
            self.check(request.head, lines.dropLast())
            require(request.body.count <= Self.limits.bodyByteCount, "a body of \(request.body.count) bytes")
            switch request.head.bodyFraming {
            case .length(let count):
                // Every body of a known length is valid.
                require(Array(rest.prefix(count)) == request.body, "the body is another one")
                require(request.isComplete == (rest.count >= count), "the end of the body is elsewhere")
                rest = rest.dropFirst(count)
            case .none: require(request.body.isEmpty && request.isComplete, "a body without a length")
            case .chunked, .untilClose:
                // Its reader is that of responses, which FuzzHTTPMessages is about.
                return
            }
        }
    }

    private func check(_ head: RequestMessageHead, _ lines: ArraySlice<[UInt8]>) {
        func name(_ line: [UInt8]) -> String {
            String(decoding: line.prefix { $0 != 0x3A }, as: UTF8.self).lowercased()
        }
        func value(_ line: [UInt8]) -> String {
            String(decoding: line.drop { $0 != 0x3A }.dropFirst(), as: UTF8.self).lowercased()
                .trimmingPrefix { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
                .map(String.init).joined()
        }
        let words = lines[0].split(separator: 0x20, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        require(words.count == 3 && words[0] == head.method && words[1] == head.target, "another request line")
        require(words[2].hasPrefix("HTTP/1.") && words[2].hasSuffix("0") == (head.minorVersion == 0), "\(words[2])")
        require(
            head.target.hasSuffix((head.path == "/" ? "" : head.path) + (head.query.map { "?\($0)" } ?? ""))
                || head.path == "/", "the path \(head.path) is not of the target")
        let fields = lines.dropFirst()
        require(fields.count <= Self.limits.fieldLineCount, "\(fields.count) field lines")
        require(
            fields.allSatisfy { !$0.isEmpty && $0.contains(0x3A) && $0[0] > 0x20 && $0[0] != 0x3A }, "a line is none")
        require(fields.allSatisfy { !$0.contains { ($0 < 0x20 && $0 != 9) || $0 == 0x7F } }, "a control character")
        let hosts = fields.count { name($0) == "host" }
        require(hosts == 1 || (hosts == 0 && head.minorVersion == 0), "\(hosts) hosts")
        // A proxy might read another end of the request from these (RFC 9112 section 11.2).
        let lengths = Set(fields.filter { name($0) == "content-length" }.map(value))
        let codings = fields.filter { name($0) == "transfer-encoding" }.map(value)
        require(lengths.isEmpty || codings.isEmpty, "a length and a coding")
        switch head.bodyFraming {
        case .length(let count): require(Set(lengths.compactMap { Int($0) }) == [count], "\(count), and not \(lengths)")
        case .none:
            require(codings.isEmpty && lengths.allSatisfy { Int($0) == 0 }, "\(codings) \(lengths) were passed over")
        case .chunked: require(codings == ["chunked"] && head.minorVersion == 1, "\(codings)")
        case .untilClose: breakInvariant("a request has no end")
        }
    }
}
