// Records as they arrive, and the payloads that are made of them.

import Deflate
import StreamTransport
import Testing
import WebSocketProtocol

@testable import LibwebsocketsTransport

@Suite struct PayloadDecoderTests {
    /// A payload, copied.
    private struct Output: Equatable {
        var kind: InboundPayload.Kind
        var bytes: [UInt8]

        init(_ kind: InboundPayload.Kind, _ bytes: [UInt8]) {
            self.kind = kind
            self.bytes = bytes
        }

        init(_ payload: InboundPayload) { self.init(payload.kind, Array(payload.bytes)) }
    }

    private static func agreement() throws -> PerMessageDeflateAgreement {
        let answer = [WebSocketExtension(name: "permessage-deflate", parameters: [])]
        return try #require(try PerMessageDeflateAgreement(answer, offer: PerMessageDeflateOffer()))
    }

    private static func compress(_ message: [UInt8], with deflater: MessageDeflater) -> [UInt8] {
        let output = PaddedBuffer()
        message.withUnsafeBytes { deflater.deflate($0, into: output) }
        return Array(output.bytes)
    }

    private static func gzip(_ content: [UInt8]) throws -> [UInt8] {
        let output = PaddedBuffer()
        let deflater = try Deflater(format: .gzip)
        content.withUnsafeBytes { deflater.deflate($0, flush: .finish, into: output) }
        return Array(output.bytes)
    }

    /// Feeds records as a connection's consumer does, and collects the payloads.
    private static func decode(
        _ records: [(bytes: [UInt8], piece: MessagePiece?)], coding: PayloadCoding, limit: Int = 1 << 20,
        into outputs: inout [Output]
    ) throws(PayloadDecoder.Failure) {
        var decoder = PayloadDecoder(messageByteCountLimit: limit)
        try decoder.begin(coding)
        let buffer = InboundBuffer()
        for record in records {
            buffer.removeAll()
            record.bytes.withUnsafeBytes { buffer.append($0, as: record.piece) }
            let bytes = buffer.bytes(of: buffer.records[0])
            if let payload = try decoder.decode(bytes, as: record.piece) { outputs.append(Output(payload)) }
            while decoder.hasRest {
                if let payload = try decoder.rest() { outputs.append(Output(payload)) }
            }
        }
        if let failure = decoder.finish() { throw failure }
    }

    private static func failure(
        _ records: [(bytes: [UInt8], piece: MessagePiece?)], coding: PayloadCoding, limit: Int = 1 << 20
    ) -> PayloadDecoder.Failure? {
        var outputs: [Output] = []
        do throws(PayloadDecoder.Failure) {
            try Self.decode(records, coding: coding, limit: limit, into: &outputs)
            return nil
        } catch {
            return error
        }
    }

    /// A message in pieces of the sizes given, the rest last.
    private static func pieces(
        _ bytes: [UInt8], kind: MessageKind = .text, isCompressed: Bool = false, cuts: [Int]
    ) -> [(bytes: [UInt8], piece: MessagePiece?)] {
        let bounds = [0] + cuts + [bytes.count]
        return zip(bounds, bounds.dropFirst()).enumerated().map { index, range in
            (
                Array(bytes[range.0..<range.1]),
                MessagePiece(
                    kind: kind, isCompressed: isCompressed, isFirst: index == 0, isLast: index == cuts.count)
            )
        }
    }

    @Test(arguments: [[], [1], [3], [1, 2], [1, 2, 3, 4]])
    func aMessageInPiecesIsOnePayload(_ cuts: [Int]) throws {
        var outputs: [Output] = []
        let message = Array("héllo".utf8)
        try Self.decode(
            Self.pieces(message, cuts: cuts) + Self.pieces([], kind: .binary, cuts: []), coding: .none, into: &outputs)
        #expect(outputs == [Output(.text, message), Output(.binary, [])])
    }

    @Test func compressedAndPlainMessagesMayMix() throws {
        let agreement = try Self.agreement()
        let deflater = try #require(try MessageDeflater(agreement: agreement))
        let one = Array("one one one one".utf8)
        let first = Self.compress(one, with: deflater)
        let second = Self.compress(one, with: deflater)
        #expect(second.count < first.count)
        for cut in 1..<first.count {
            var outputs: [Output] = []
            try Self.decode(
                Self.pieces(first, isCompressed: true, cuts: [cut]) + Self.pieces(Array("two".utf8), cuts: [1])
                    + Self.pieces(second, kind: .binary, isCompressed: true, cuts: []),
                coding: .messages(agreement), into: &outputs)
            #expect(outputs == [Output(.text, one), Output(.text, Array("two".utf8)), Output(.binary, one)])
        }
    }

    @Test(arguments: [false, true])
    func aMessageMayBeAsLargeAsTheLimit(isCompressed: Bool) throws {
        let agreement = try Self.agreement()
        for excess in [-1, 0, 1] {
            let message = [UInt8](repeating: 0x61, count: 1_000 + excess)
            let deflater = try #require(try MessageDeflater(agreement: agreement))
            let bytes = isCompressed ? Self.compress(message, with: deflater) : message
            for cuts in [[], [bytes.count / 2]] {
                let failure = Self.failure(
                    Self.pieces(bytes, isCompressed: isCompressed, cuts: cuts),
                    coding: isCompressed ? .messages(agreement) : .none, limit: 1_000)
                #expect(failure?.cause == (excess > 0 ? .messageTooLarge(limit: 1_000) : nil))
                #expect(failure?.closeCode == (excess > 0 ? .messageTooBig : nil))
            }
        }
    }

    @Test func aDamagedMessageFailsWithItsCloseCode() throws {
        let failure = Self.failure(
            Self.pieces([0xFF, 0xFF, 0xFF], isCompressed: true, cuts: []), coding: .messages(try Self.agreement()))
        #expect(failure?.cause == .protocolViolation(closeCode: 1007))
        #expect(failure?.closeCode == .invalidFramePayloadData)
    }

    // MARK: Text

    /// Returns the number of pieces that were taken before the decoder failed; nil when it did not.
    private static func failingPiece(
        of records: [(bytes: [UInt8], piece: MessagePiece?)], coding: PayloadCoding
    ) throws -> Int? {
        var decoder = PayloadDecoder(messageByteCountLimit: 1 << 20)
        try decoder.begin(coding)
        for (index, record) in records.enumerated() {
            do {
                _ = try record.bytes.withUnsafeBytes { _ = try decoder.decode($0, as: record.piece) }
            } catch let error as PayloadDecoder.Failure {
                #expect(error.cause == .protocolViolation(closeCode: 1007))
                #expect(error.closeCode == .invalidFramePayloadData)
                return index
            }
        }
        return nil
    }

    @Test(arguments: [false, true])
    func textThatCannotBecomeUTF8FailsWithItsPiece(isCompressed: Bool) throws {
        let agreement = try Self.agreement()
        // The eighth byte cannot follow the seventh: the code point would be above U+10FFFF.
        let text = Array("κόσμ".utf8.prefix(6)) + [0xF4, 0x90, 0x80, 0x80] + Array("edited".utf8)
        // Stored blocks, so that a byte comes out as it goes in; their header is five bytes.
        let bytes =
            isCompressed
            ? [0x00, UInt8(text.count), 0x00, ~UInt8(text.count), 0xFF] + text + [0x00] : text
        let firstBad = bytes.count - (isCompressed ? 1 : 0) - 9
        for cut in 1..<bytes.count {
            let pieces = Self.pieces(bytes, isCompressed: isCompressed, cuts: [cut])
            let failing = try Self.failingPiece(
                of: pieces, coding: isCompressed ? .messages(agreement) : .none)
            #expect(failing == (cut > firstBad ? 0 : 1), "cut at \(cut)")
        }
    }

    @Test(arguments: [false, true])
    func textThatEndsInsideAScalarFails(isCompressed: Bool) throws {
        let agreement = try Self.agreement()
        let text = Array("abc\u{1F600}".utf8.dropLast())
        let deflater = try #require(try MessageDeflater(agreement: agreement))
        let bytes = isCompressed ? Self.compress(text, with: deflater) : text
        for cut in 1..<bytes.count {
            let pieces = Self.pieces(bytes, isCompressed: isCompressed, cuts: [cut])
            #expect(
                try Self.failingPiece(of: pieces, coding: isCompressed ? .messages(agreement) : .none) == 1)
        }
    }

    @Test func aWholeMessageIsLeftToItsConsumer() throws {
        let agreement = try Self.agreement()
        let deflater = try #require(try MessageDeflater(agreement: agreement))
        let text: [UInt8] = [0x61, 0xFF]
        var outputs: [Output] = []
        try Self.decode(
            Self.pieces(text, cuts: [])
                + Self.pieces(Self.compress(text, with: deflater), isCompressed: true, cuts: []),
            coding: .messages(agreement), into: &outputs)
        #expect(outputs == [Output(.text, text), Output(.text, text)])
    }

    @Test func aBinaryMessageMayHaveAnyBytes() throws {
        var outputs: [Output] = []
        try Self.decode(Self.pieces([0xFF, 0xFE, 0xC0], kind: .binary, cuts: [1, 2]), coding: .none, into: &outputs)
        #expect(outputs == [Output(.binary, [0xFF, 0xFE, 0xC0])])
    }

    @Test func theTextOfOneMessageDoesNotMatterToTheNext() throws {
        var outputs: [Output] = []
        let scalar = Array("é".utf8)
        try Self.decode(
            Self.pieces(scalar, cuts: [1]) + Self.pieces([0xC3], kind: .binary, cuts: [0])
                + Self.pieces(scalar, cuts: [1]),
            coding: .none, into: &outputs)
        #expect(outputs == [Output(.text, scalar), Output(.binary, [0xC3]), Output(.text, scalar)])
    }

    @Test func anIdleDecoderGoesOnWhereItWas() throws {
        for parameters in [[], [WebSocketExtension.Parameter(name: "server_no_context_takeover")]] {
            let answer = [WebSocketExtension(name: "permessage-deflate", parameters: parameters)]
            let agreement = try #require(try PerMessageDeflateAgreement(answer, offer: PerMessageDeflateOffer()))
            let text = Array("one one one one".utf8)
            let payload = Self.compress(text, with: try #require(try MessageDeflater(agreement: agreement)))
            var decoder = PayloadDecoder(messageByteCountLimit: 1 << 20)
            try decoder.begin(.messages(agreement))
            for _ in 0..<2 {
                for (bytes, piece) in Self.pieces(payload, isCompressed: true, cuts: [3, 5]) {
                    let output = try bytes.withUnsafeBytes { try decoder.decode($0, as: piece).map { Output($0) } }
                    #expect(output == (piece?.isLast == true ? Output(.text, text) : nil))
                    decoder.becomeIdle()
                }
            }
        }
    }

    // MARK: Bodies

    @Test func aPlainBodyIsPassedOn() throws {
        var outputs: [Output] = []
        try Self.decode([(Array("ab".utf8), nil), (Array("c".utf8), nil)], coding: .none, into: &outputs)
        #expect(outputs == [Output(.body, Array("ab".utf8)), Output(.body, Array("c".utf8))])
    }

    @Test func aSmallPieceThatInflatesToMuchComesInParts() throws {
        let content = [UInt8](repeating: 0x61, count: 1_000_000)
        var outputs: [Output] = []
        try Self.decode([(try Self.gzip(content), nil)], coding: .content("gzip"), into: &outputs)
        #expect(outputs.count > 10)
        #expect(outputs.allSatisfy { $0.kind == .body && !$0.bytes.isEmpty && $0.bytes.count <= 64 << 10 })
        #expect(outputs.flatMap(\.bytes) == content)
    }

    @Test func aCompressedBodyMayComeByteByByte() throws {
        let content = Array("data: hello\n\ndata: world\n\n".utf8)
        var outputs: [Output] = []
        try Self.decode(try Self.gzip(content).map { ([$0], nil) }, coding: .content("GZIP"), into: &outputs)
        #expect(outputs.flatMap(\.bytes) == content)
    }

    @Test func aCompressedBodyThatIsCutOffIsDamaged() throws {
        let whole = try Self.gzip(Array("data: hello\n\n".utf8))
        for count in 1..<whole.count {
            let failure = Self.failure([(Array(whole[..<count]), nil)], coding: .content("gzip"))
            #expect(failure?.cause == .corruptContentCoding)
            #expect(failure?.closeCode == nil)
        }
        #expect(Self.failure([], coding: .content("gzip")) == nil)
    }

    @Test func outputBeforeTheDamageIsPassedOn() throws {
        let content = Array("data: hello\n\n".utf8)
        let damaged = try Self.gzip(content) + [UInt8](repeating: 0, count: 50)
        for cut in [damaged.count, damaged.count - 50, 5] {
            var outputs: [Output] = []
            var failure: PayloadDecoder.Failure?
            do throws(PayloadDecoder.Failure) {
                let records = [Array(damaged[..<cut]), Array(damaged[cut...])].filter { !$0.isEmpty }
                try Self.decode(records.map { ($0, nil) }, coding: .content("gzip"), into: &outputs)
            } catch {
                failure = error
            }
            #expect(outputs.flatMap(\.bytes) == content)
            #expect(failure?.cause == .corruptContentCoding)
        }
    }

    @Test func bytesThatAreNotGzipAreDamaged() {
        let failure = Self.failure([(Array("data: hello\n\n".utf8), nil)], coding: .content("gzip"))
        #expect(failure?.cause == .corruptContentCoding)
    }

    @Test func aCodingThatWasNotAskedForIsRefused() {
        #expect(Self.failure([], coding: .content("br"))?.cause == .unsupportedContentCoding)
        #expect(
            Self.failure([], coding: .content("gzip, gzip, gzip, gzip"))?.cause == .unsupportedContentCoding)
    }
}
