// Tests of ClientFrameReader, ServerFrameWriter and UpgradeRequest.

import Testing
import WebSocketProtocol

@Suite struct ClientFrameReaderTests {
    /// A frame of a client.
    private func frame(
        _ firstByte: UInt8, _ payload: [UInt8], key: [UInt8] = [1, 2, 3, 4], length: [UInt8]? = nil
    ) -> [UInt8] {
        var form = length ?? [UInt8(payload.count)]
        form[0] |= 0x80
        return [firstByte] + form + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
    }

    private func read(_ bytes: [UInt8], step: Int? = nil, limit: Int = 1_000) -> (
        [ClientFrameReader.Element], FrameError?
    ) {
        var reader = ClientFrameReader(messageByteLimit: limit)
        var elements: [ClientFrameReader.Element] = []
        for start in stride(from: 0, to: bytes.count, by: step ?? max(1, bytes.count)) {
            let chunk = bytes[start..<min(bytes.count, start + (step ?? bytes.count))]
            let error = Array(chunk).withUnsafeBytes { bytes -> FrameError? in
                var position = 0
                do throws(FrameError) {
                    while let element = try reader.next(in: bytes, at: &position) { elements.append(element) }
                    return nil
                } catch {
                    return error
                }
            }
            if let error { return (elements, error) }
        }
        return (elements, nil)
    }

    @Test(arguments: [nil, 1, 2, 3, 7])
    func framesAreUnmaskedAndAssembled(step: Int?) {
        let long = [UInt8](repeating: 0x61, count: 200)
        let bytes =
            self.frame(0x81, Array("Hello".utf8)) + self.frame(0x01, [0x61]) + self.frame(0x89, [0x70])
            + self.frame(0x00, []) + self.frame(0x80, [0x62]) + self.frame(0x8A, [])
            + self.frame(0x82, long, length: [126, 0, 200]) + self.frame(0x81, [])
            + self.frame(0x88, [0x03, 0xE8]) + self.frame(0x81, [0x63])
        let (elements, error) = self.read(bytes, step: step)
        #expect(error == nil)
        #expect(
            elements == [
                .message(.text, Array("Hello".utf8)), .ping([0x70]), .message(.text, [0x61, 0x62]), .pong([]),
                .message(.binary, long), .message(.text, []), .close(CloseFrame(code: .normalClosure)),
            ])
    }

    @Test func framesThatBreakARuleFailTheConnection() {
        let cases: [([UInt8], FrameError)] = [
            ([0x81, 0x01, 0x61], .unmaskedFrame), (self.frame(0xC1, []), .reservedBitSet),
            (self.frame(0xA1, []), .reservedBitSet), (self.frame(0x83, []), .reservedOpcode(3)),
            (self.frame(0x8B, []), .reservedOpcode(11)), (self.frame(0x09, []), .fragmentedControlFrame),
            (self.frame(0x89, [], length: [126, 0, 126]), .controlFrameTooLong),
            (self.frame(0x80, []), .unexpectedContinuation),
            (self.frame(0x01, []) + self.frame(0x81, []), .unfinishedMessage),
            (self.frame(0x81, [], length: [126, 0, 125]), .nonMinimalLength),
            (self.frame(0x81, [], length: [127, 0, 0, 0, 0, 0, 0, 255, 255]), .nonMinimalLength),
            (self.frame(0x81, [], length: [127, 128, 0, 0, 0, 0, 0, 0, 0]), .lengthOutOfRange),
            (
                self.frame(0x81, [], length: [127, 127, 255, 255, 255, 255, 255, 255, 255]),
                .messageTooBig(limit: 1_000)
            ),
            (self.frame(0x88, [3]), .incompleteCloseCode),
            (self.frame(0x88, [0x03, 0xED]), .closeCodeNotAllowed(1005)),
            (self.frame(0x88, [0x03, 0xE8, 0xFF]), .closeReasonNotUTF8),
        ]
        for (bytes, error) in cases {
            #expect(self.read(bytes).1 == error)
            #expect(self.read(bytes, step: 1).1 == error)
        }
    }

    @Test func limitIsThatOfAllFragmentsTogether() {
        #expect(self.read(self.frame(0x81, [1, 2, 3]), limit: 3).1 == nil)
        #expect(self.read(self.frame(0x81, [1, 2, 3]), limit: 2).1 == .messageTooBig(limit: 2))
        let fragments = self.frame(0x01, [1, 2]) + self.frame(0x80, [3])
        #expect(self.read(fragments, limit: 3).1 == nil)
        #expect(self.read(fragments, limit: 2).1 == .messageTooBig(limit: 2))
    }

    @Test(
        arguments: [
            (0, [0x81, 0]), (125, [0x81, 125]), (126, [0x81, 126, 0, 126]), (65_535, [0x81, 126, 255, 255]),
            (65_536, [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])])
    func serverFramesHaveTheShortestHeader(byteCount: Int, header: [UInt8]) {
        #expect(ServerFrameWriter.header(.text, payloadByteCount: byteCount) == header)
    }
}

@Suite struct UpgradeRequestTests {
    private func read(
        _ change: (inout UpgradeRequest.Head) -> Void = { _ in }
    ) -> Result<UpgradeRequest?, UpgradeRequest.Failure> {
        var head = UpgradeRequest.Head(
            method: "GET", isHTTP11: true, upgrade: "WebSocket", connection: "keep-alive, Upgrade",
            keys: ["dGhlIHNhbXBsZSBub25jZQ=="], version: "13", subprotocols: "a, b")
        change(&head)
        return Result { () throws(UpgradeRequest.Failure) in try UpgradeRequest.read(head) }
    }

    @Test func requestOfRFC6455IsAccepted() throws {
        let request = try #require(try self.read().get())
        #expect(request.acceptInput == "dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
        #expect(request.subprotocols == ["a", "b"])
    }

    @Test func otherRequestsAreOrdinary() throws {
        #expect(try self.read { $0.upgrade = nil }.get() == nil)
        #expect(try self.read { $0.upgrade = "h2c" }.get() == nil)
        #expect(try self.read { $0.connection = "keep-alive" }.get() == nil)
        #expect(try self.read { $0.isHTTP11 = false }.get() == nil)
    }

    @Test(arguments: ["", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25j!Q==", "AAAA"])
    func keysAreSixteenBytesOfBase64(key: String) {
        #expect(self.read { $0.keys = [key] } == .failure(.malformed))
    }

    @Test func faultyRequestsAreRefused() {
        #expect(self.read { $0.method = "POST" } == .failure(.malformed))
        #expect(self.read { $0.keys = [] } == .failure(.malformed))
        #expect(self.read { $0.keys += $0.keys } == .failure(.malformed))
        #expect(self.read { $0.version = "8" } == .failure(.unsupportedVersion))
        #expect(self.read { $0.version = nil } == .failure(.unsupportedVersion))
    }
}
