// Messages to the peer: compressed when that was agreed and pays, and what the peer would read.

import Deflate
import StreamTransport
import Testing
import WebSocketProtocol

@testable import LibwebsocketsTransport

@Suite struct OutboundMessageTests {
    private static func agreement(_ parameters: String) throws -> PerMessageDeflateAgreement {
        let extensions = try ExtensionListParser.parse("permessage-deflate" + parameters)
        return try #require(try PerMessageDeflateAgreement(extensions, offer: PerMessageDeflateOffer()))
    }

    /// A JSON text of at least that size.
    private static func text(_ count: Int) -> [UInt8] {
        var text = "["
        while text.utf8.count < count {
            text += "{\"type\":\"input_text\",\"text\":\"line \(text.utf8.count) of it\"},"
        }
        return Array(text.utf8)
    }

    private static func inflate(_ bytes: [UInt8], windowBits: Int) throws -> [UInt8] {
        // What a client sends is read like what a server sends.
        let agreement = try Self.agreement("; server_max_window_bits=\(windowBits); server_no_context_takeover")
        let inflater = MessageInflater(agreement: agreement)
        let output = PaddedBuffer()
        try bytes.withUnsafeBytes { try inflater.inflate($0, isLast: true, into: output) }
        return Array(output.bytes)
    }

    @Test(arguments: [
        ("", 15), ("; client_no_context_takeover", 15), ("; client_max_window_bits=9", 9),
        ("; client_max_window_bits=12; server_max_window_bits=8", 12),
    ])
    func aLongTextIsCompressedWithinTheAgreedWindow(parameters: String, windowBits: Int) throws {
        let text = Self.text(100_000)
        let agreement = try Self.agreement(parameters)
        for _ in 0..<2 {
            // Each by itself: no message refers to the previous one.
            let message = OutboundMessage(text, kind: .text, compressedFor: agreement)
            #expect(message.isCompressed)
            #expect(message.kind == .text)
            #expect(message.payload.count < text.count / 2)
            #expect(try Self.inflate(message.payload, windowBits: windowBits) == text)
        }
    }

    @Test func windowThatZlibLacksDisablesCompression() throws {
        let text = Self.text(10_000)
        let agreement = try Self.agreement("; client_max_window_bits=8")
        #expect(
            OutboundMessage(text, kind: .text, compressedFor: agreement) == OutboundMessage(text, kind: .text))
    }

    @Test(arguments: [0, 1, 4_095])
    func aShortMessageIsSentAsItIs(count: Int) throws {
        let bytes = Array(Self.text(count).prefix(count))
        let agreement = try Self.agreement("")
        #expect(
            OutboundMessage(bytes, kind: .binary, compressedFor: agreement) == OutboundMessage(bytes, kind: .binary))
    }

    @Test func incompressibleMessageIsSentUncompressed() throws {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<50_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let agreement = try Self.agreement("")
        #expect(
            OutboundMessage(bytes, kind: .binary, compressedFor: agreement) == OutboundMessage(bytes, kind: .binary))
    }
}
