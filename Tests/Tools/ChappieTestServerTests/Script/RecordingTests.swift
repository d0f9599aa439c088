// Recordings of real services, served byte for byte over both transports.
import Foundation
import Testing

@testable import ChappieTestServer

@Suite struct RecordingTests {
    /// Recordings beside the checkout when they are there, else one made by hand.
    private func recordings() throws -> [[String]] {
        let checkout = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../../..").standardizedFileURL
        let folder = checkout.appendingPathComponent("shared/recordings")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        let texts = try files.filter { $0.pathExtension == "jsonl" }.map { try String(contentsOf: $0, encoding: .utf8) }
        if texts.isEmpty { print("no recordings at \(folder.path): one made by hand is served") }
        let own = #"{"type":"response.created"}"# + "\n" + #"{"type":"response.completed","x":"é漢👩🏽‍🚀"}"#
        return (texts.isEmpty ? [own] : texts).map { $0.split(separator: "\n").map(String.init) }
    }

    @Test func everyRecordingArrivesAsItIs() throws {
        for recording in try self.recordings() {
            var configuration = ChappieTestServer.Configuration(model: .recordings([recording]))
            configuration.faults = [.init(action: .closeAfterResponse(code: 1000))]
            let server = try ChappieTestServer(configuration: configuration)
            defer { server.stop() }

            let socket = try RawClient(port: server.port)
            try socket.upgrade()
            _ = try socket.readHead()
            try socket.sendText(plainRequest)
            var messages: [String] = []
            while let frame = try? socket.readFrame(), frame.opcode == 1 { messages.append(frame.text) }
            #expect(messages == recording)

            let stream = try RawClient(port: server.port)
            try stream.post(plainRequest)
            let body = try String(decoding: stream.readBody(stream.readHead()), as: UTF8.self)
            let data = body.split(separator: "\n").filter { $0.hasPrefix("data: ") }.map { String($0.dropFirst(6)) }
            #expect(data == recording)
        }
    }
}
