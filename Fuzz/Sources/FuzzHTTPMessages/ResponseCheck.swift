// Holds the reader of responses against the plain reading.

import HTTPProtocol
import Invariants

/// A response, and what it was read as.
struct ResponseCheck {
    private let bytes: [UInt8]
    private let makeModel: () -> ModelResponse
    private let makeReader: () -> ResponseReader

    init(_ bytes: [UInt8], to method: RequestMethod, acceptsUpgrade: Bool, limits: HTTPLimits) {
        self.bytes = bytes
        self.makeModel = { ResponseModel.read(bytes, to: method, acceptsUpgrade: acceptsUpgrade, limits: limits) }
        self.makeReader = { ResponseReader(method: method, acceptsUpgrade: acceptsUpgrade, limits: limits) }
    }

    /// Reads whole and cut once, and compares the two.
    func runBare(_ random: inout InputHash) {
        self.compareCut(with: self.read { $0 }, &random)
    }

    /// Reads in pieces of all kinds, and compares each with the model.
    func run(_ random: inout InputHash) {
        let expected = self.makeModel()
        self.compare(self.read { $0 }, with: expected, "whole")
        self.compare(self.read { _ in 1 }, with: expected, "byte by byte")
        self.compareCut(with: expected, &random)
        for longest in [4, 40] {
            var pieces = random
            self.compare(
                self.read { _ in Int.random(in: 0...longest, using: &pieces) }, with: expected,
                "in pieces of up to \(longest)")
            _ = random.next()
        }
    }

    private func compareCut(with expected: ModelResponse, _ random: inout InputHash) {
        let cut = Int.random(in: 0...self.bytes.count, using: &random)
        var isFirst = true
        let response = self.read { rest in
            defer { isFirst = false }
            return isFirst ? cut : rest
        }
        self.compare(response, with: expected, "cut at \(cut)")
    }

    private func compare(_ response: ModelResponse, with expected: ModelResponse, _ words: @autoclosure () -> String) {
        require(response == expected, "\(words()) it is \(response), and not \(expected)")
    }

    private func read(_ pieceSize: (_ rest: Int) -> Int) -> ModelResponse {
        var reading = Reading(self.makeReader())
        var position = 0
        repeat {
            let end = min(self.bytes.count, position + pieceSize(self.bytes.count - position))
            reading.feed(self.bytes[position..<end])
            position = end
        } while position < self.bytes.count
        return reading.end()
    }
}

/// Drives a reader as a connection would.
private struct Reading {
    private var response = ModelResponse(byteCount: 0)
    private var reader: ResponseReader

    init(_ reader: ResponseReader) { self.reader = reader }

    mutating func feed(_ piece: ArraySlice<UInt8>) {
        guard self.response.error == nil, !self.response.isComplete else { return }
        ExactCopy.lend(piece) { bytes in
            // The copy is this call's own.
            let buffer = UnsafeMutableRawBufferPointer(mutating: bytes)
            do throws(HTTPError) {
                try self.read(buffer)
            } catch {
                self.response.error = error
                self.response.byteCount = nil
                self.repeatError(error)
            }
        }
    }

    private mutating func read(_ buffer: UnsafeMutableRawBufferPointer) throws(HTTPError) {
        var position = 0
        if self.response.statusCode == nil {
            let head = try self.reader.readHead(UnsafeRawBufferPointer(buffer), at: &position)
            self.response.byteCount? += position
            self.response.framing = self.reader.bodyFraming
            guard let head else {
                return require(position == buffer.count, "only \(position) of \(buffer.count) bytes were read")
            }
            self.take(head)
        }
        repeat {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[position...])
            let before = Array(rest)
            let piece = try self.reader.readBody(rest)
            let content = piece.content
            require(
                content.upperBound <= piece.consumed && piece.consumed <= rest.count, "content outside of the bytes")
            require(
                rest[..<content.lowerBound].elementsEqual(before[..<content.lowerBound])
                    && rest[piece.consumed...].elementsEqual(before[piece.consumed...]), "other bytes have changed")
            self.response.content += rest[content]
            self.response.byteCount? += piece.consumed
            self.response.isComplete = piece.isComplete
            position += piece.consumed
            let isStuck = piece.consumed == 0 && !rest.isEmpty && !piece.isComplete
            require(!isStuck, "nothing was read")
        } while position < buffer.count && !self.response.isComplete
    }

    private mutating func take(_ head: ResponseMessageHead) {
        self.response.statusCode = head.statusCode
        self.response.minorVersion = head.minorVersion
        self.response.fields = head.fields.map { [$0.name, $0.value] }
        for line in head.fields {
            let values = head.fields.filter { $0.name.lowercased() == line.name.lowercased() }.map(\.value)
            require(head.fields.values(of: line.name.uppercased()) == values, "\(line.name) has other lines")
            require(head.fields.value(of: line.name.lowercased()) == values.joined(separator: ", "), "joined otherwise")
        }
    }

    private mutating func repeatError(_ error: HTTPError) {
        var isThrown = false
        do throws(HTTPError) {
            if self.response.statusCode == nil {
                var position = 0
                _ = try self.reader.readHead(UnsafeRawBufferPointer(start: nil, count: 0), at: &position)
            } else {
                _ = try self.reader.readBody(UnsafeMutableRawBufferPointer(start: nil, count: 0))
            }
        } catch let again {
            isThrown = again == error
        }
        require(isThrown, "\(error) is not thrown again")
    }

    mutating func end() -> ModelResponse {
        do throws(HTTPError) {
            try self.reader.connectionEnded()
        } catch {
            self.response.endError = error
        }
        return self.response
    }
}
