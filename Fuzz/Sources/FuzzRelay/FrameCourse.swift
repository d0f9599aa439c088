// The frames of a client's WebSocket, and a plain reading of them (RFC 6455 section 5).

import Invariants
import WebSocketProtocol

/// The messages and control frames of one client.
struct FrameCourse: Course {
    private static let messageByteLimit = 400

    private var elements: [ClientFrameReader.Element] = []
    private var error: FrameError?

    init(reading pieces: [ArraySlice<UInt8>]) {
        var reader = ClientFrameReader(messageByteLimit: Self.messageByteLimit)
        do throws(FrameError) {
            for piece in pieces {
                try ExactCopy.lend(piece) { bytes throws(FrameError) in
                    var position = 0
                    while let element = try reader.next(in: bytes, at: &position) { self.elements.append(element) }
                    require(position == bytes.count, "\(bytes.count - position) bytes were left")
                }
            }
        } catch {
            self.error = error
        }
    }

    // MARK: The plain reading

    func check(against bytes: [UInt8]) {
        var plain = PlainFrames(bytes[...], limit: Self.messageByteLimit)
        plain.read()
        require(self.elements == plain.elements, "\(self.elements), and plainly \(plain.elements)")
        require((self.error != nil) == plain.isFaulty, "\(String(describing: self.error)), plainly \(plain.isFaulty)")
    }
}

private struct PlainFrames {
    private var rest: ArraySlice<UInt8>
    private let limit: Int
    private var message: (kind: MessageKind, bytes: [UInt8])?
    var elements: [ClientFrameReader.Element] = []
    var isFaulty = false

    init(_ bytes: ArraySlice<UInt8>, limit: Int) {
        self.rest = bytes
        self.limit = limit
    }

    mutating func read() {
        while self.readFrame() {}
    }

    /// Reads a frame; false behind the last one.
    private mutating func readFrame() -> Bool {
        var bytes = self.rest
        func fault(_ isFaulty: Bool) -> Bool {
            if isFaulty { self.isFaulty = true }
            return isFaulty
        }
        guard let first = bytes.popFirst() else { return false }
        let (isFinal, code) = (first & 0x80 != 0, first & 0x0F)
        if fault(first & 0x70 != 0 || ![0, 1, 2, 8, 9, 10].contains(code)) { return false }
        if fault(code >= 8 ? !isFinal : (code == 0) != (self.message != nil)) { return false }
        guard let second = bytes.popFirst() else { return false }
        if fault(second & 0x80 == 0 || (code >= 8 && second & 0x7F > 125)) { return false }
        let width = second & 0x7F == 126 ? 2 : second & 0x7F == 127 ? 8 : 0
        guard bytes.count >= width + 4 else { return false }
        var length = UInt64(second & 0x7F)
        if width > 0 {
            length = bytes.prefix(width).reduce(0) { $0 << 8 | UInt64($1) }
            if fault(length < (width == 2 ? 126 : 65_536) || length >= 1 << 63) { return false }
        }
        let key = Array(bytes.dropFirst(width).prefix(4))
        bytes = bytes.dropFirst(width + 4)
        if fault(code < 8 && length > UInt64(self.limit - (self.message?.bytes.count ?? 0))) { return false }
        guard UInt64(bytes.count) >= length else { return false }
        let payload = bytes.prefix(Int(length)).enumerated().map { $1 ^ key[$0 % 4] }
        self.rest = bytes.dropFirst(Int(length))
        switch code {
        case 8:
            if fault(!Self.isClose(payload)) { return false }
            let reason = String(decoding: payload.dropFirst(2), as: UTF8.self)
            let number = payload.count < 2 ? nil : UInt16(payload[0]) << 8 | UInt16(payload[1])
            self.elements.append(.close(CloseFrame(code: number.flatMap { CloseCode(rawValue: $0) }, reason: reason)))
            return false
        case 9: self.elements.append(.ping(payload))
        case 10: self.elements.append(.pong(payload))
        default:
            let kind = self.message?.kind ?? (code == 1 ? .text : .binary)
            self.message = (kind, (self.message?.bytes ?? []) + payload)
            guard isFinal, let message = self.message else { return true }
            self.elements.append(.message(kind, message.bytes))
            self.message = nil
        }
        return true
    }

    /// RFC 6455 sections 5.5.1 and 7.4.
    private static func isClose(_ payload: [UInt8]) -> Bool {
        guard !payload.isEmpty else { return true }
        guard payload.count >= 2, String(validating: payload.dropFirst(2), as: UTF8.self) != nil else { return false }
        let number = Int(payload[0]) << 8 | Int(payload[1])
        return 1000...1003 ~= number || 1007...1014 ~= number || 3000...4999 ~= number
    }
}
