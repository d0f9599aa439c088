// Tests of the negotiation of permessage-deflate (RFC 7692 section 7.1).

import Deflate
import Testing
import WebSocketProtocol

@Suite struct PerMessageDeflateTests {
    private typealias Failure = PerMessageDeflateAgreement.Failure

    private static let everything = PerMessageDeflateOffer(
        serverNoContextTakeover: true, clientNoContextTakeover: true, serverMaxWindowBits: 12, clientWindow: .bits(11))

    /// Returns the agreement, in the order: server takeover, client takeover, server bits, client bits.
    private func summary(_ answer: String, offer: PerMessageDeflateOffer = .init()) throws -> [Int]? {
        let extensions = try ExtensionListParser.parse(answer)
        return try PerMessageDeflateAgreement(extensions, offer: offer).map {
            [
                $0.serverNoContextTakeover ? 0 : 1, $0.clientNoContextTakeover ? 0 : 1, $0.serverMaxWindowBits,
                $0.clientMaxWindowBits,
            ]
        }
    }

    private func expect(
        _ answer: String,
        fails failure: PerMessageDeflateAgreement.Failure,
        offer: PerMessageDeflateOffer = .init(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(throws: failure, sourceLocation: sourceLocation) { try self.summary(answer, offer: offer) }
    }

    @Test func offersAreWritten() {
        #expect(PerMessageDeflateOffer().fieldValue == "permessage-deflate; client_max_window_bits")
        #expect(PerMessageDeflateOffer(clientWindow: .notOffered).fieldValue == "permessage-deflate")
        #expect(
            Self.everything.fieldValue
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
                + "; server_max_window_bits=12; client_max_window_bits=11")
    }

    @Test func noExtensionDeclinesTheOffer() throws {
        #expect(try self.summary("") == nil)
    }

    @Test(
        arguments: [
            ("permessage-deflate", [1, 1, 15, 15]),
            ("Permessage-Deflate", [1, 1, 15, 15]),
            ("permessage-deflate; server_no_context_takeover", [0, 1, 15, 15]),
            ("permessage-deflate; client_no_context_takeover", [1, 0, 15, 15]),
            ("permessage-deflate; server_max_window_bits=8", [1, 1, 8, 15]),
            ("permessage-deflate; server_max_window_bits=\"10\"", [1, 1, 10, 15]),
            ("permessage-deflate; client_max_window_bits=9", [1, 1, 15, 9]),
            (
                "permessage-deflate;client_max_window_bits=15;server_max_window_bits=15"
                    + ";client_no_context_takeover;server_no_context_takeover", [0, 0, 15, 15]
            ),
        ])
    func answerToTheDefaultOfferIsNegotiated(answer: String, expected: [Int]) throws {
        #expect(try self.summary(answer) == expected)
    }

    @Test func answerToAFullOfferIsNegotiated() throws {
        let minimal = "permessage-deflate; server_no_context_takeover; server_max_window_bits="
        #expect(try self.summary(minimal + "12", offer: Self.everything) == [0, 0, 12, 11])
        #expect(try self.summary(minimal + "9", offer: Self.everything) == [0, 0, 9, 11])
        #expect(try self.summary(minimal + "9; client_max_window_bits=8", offer: Self.everything) == [0, 0, 9, 8])
    }

    @Test(arguments: ["7", "16", "0", "08", "015", "", "-9", "+9", "9.0", "99999999999999999999", "a"])
    func windowsHaveEightToFifteenBits(bits: String) {
        let value = bits.isEmpty ? "" : "=\(bits)"
        self.expect(
            "permessage-deflate; server_max_window_bits" + value, fails: .invalidValue(.serverMaxWindowBits))
        self.expect(
            "permessage-deflate; client_max_window_bits" + value, fails: .invalidValue(.clientMaxWindowBits))
    }

    @Test func flagsHaveNoValue() {
        self.expect(
            "permessage-deflate; server_no_context_takeover=1", fails: .invalidValue(.serverNoContextTakeover))
        self.expect(
            "permessage-deflate; client_no_context_takeover=true", fails: .invalidValue(.clientNoContextTakeover))
    }

    @Test func unknownAndRepeatedParametersAreRefused() {
        self.expect("permessage-deflate; level=9", fails: .unknownParameter)
        self.expect(
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            fails: .duplicateParameter(.serverNoContextTakeover))
        self.expect(
            "permessage-deflate; server_max_window_bits=9; server_max_window_bits=9",
            fails: .duplicateParameter(.serverMaxWindowBits))
    }

    @Test func otherAndSeveralExtensionsAreRefused() {
        self.expect("x-webkit-deflate-frame", fails: .unknownExtension)
        self.expect("permessage-deflate, permessage-deflate", fails: .severalExtensions)
        self.expect("permessage-deflate, x-other", fails: .severalExtensions)
    }

    @Test func parameterThatWasNotOfferedIsRefused() {
        let withoutClientWindow = PerMessageDeflateOffer(clientWindow: .notOffered)
        self.expect(
            "permessage-deflate; client_max_window_bits=15", fails: .notOffered(.clientMaxWindowBits),
            offer: withoutClientWindow)
        let complete = "permessage-deflate; server_no_context_takeover; server_max_window_bits="
        self.expect(complete + "13", fails: .notOffered(.serverMaxWindowBits), offer: Self.everything)
        self.expect(
            complete + "12; client_max_window_bits=12", fails: .notOffered(.clientMaxWindowBits),
            offer: Self.everything)
    }

    @Test func requestedParameterMustBeAnswered() {
        self.expect(
            "permessage-deflate; server_max_window_bits=12", fails: .missing(.serverNoContextTakeover),
            offer: Self.everything)
        self.expect(
            "permessage-deflate; server_no_context_takeover", fails: .missing(.serverMaxWindowBits),
            offer: Self.everything)
    }

    @Test func aClientWindowOfEightBitsMeansNoCompressionByTheClient() throws {
        for (bits, isPossible) in [(8, false), (9, true)] {
            let extensions = try ExtensionListParser.parse("permessage-deflate; client_max_window_bits=\(bits)")
            let agreement = try #require(try PerMessageDeflateAgreement(extensions, offer: .init()))
            #expect(agreement.allowsClientCompression == isPossible)
            #expect(try (MessageDeflater(agreement: agreement) != nil) == isPossible)
        }
    }
}
