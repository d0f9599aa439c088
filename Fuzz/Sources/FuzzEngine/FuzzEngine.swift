// Invariant: whatever a server sends, however it is cut and however it ends, a turn ends by itself, once, with a
// documented error or with a whole response; no event follows the end or exceeds a limit, and the socket is closed. Of
// a response without a fault every byte is delivered, of any other a beginning without repetition. Turns leave no
// memory and no descriptors behind.

import Foundation
import PromiseRecord

/// Called by libFuzzer for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzEngine(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    let input = EngineInput(bytes)
    Bench.shared.run(input, name: EngineRecording.name(of: bytes))
    Bench.shared.checkForLeaks(input)
    return 0
}

/// Ends the process when a condition does not hold.
func require(_ holds: Bool, _ what: @autoclosure () -> String) {
    guard !holds else { return }
    // An optimised build prints no message of its own, and standard output is lost in a crash.
    FileHandle.standardError.write(Data("broken: \(what())\n".utf8))
    preconditionFailure()
}

/// The server and the engine's service, which all runs share.
///
/// - Safety: libFuzzer calls on one thread.
final class Bench: @unchecked Sendable {
    static let shared = Bench()

    private var listener = ServerListener()
    private var inputCount = 0
    private let recording = EngineRecording()

    /// True for the first input, and for one in 500.
    var isLeakCheckDue: Bool {
        defer { self.inputCount += 1 }
        return self.inputCount % 500 == 0
    }

    /// One turn against one server; one that has a name is recorded.
    func run(_ input: EngineInput, name: @autoclosure () -> String? = nil) {
        let turn = EngineTurn(input, port: self.listener.port)
        guard let socket = self.listener.accept(unless: { turn.hasEnded }) else {
            // A connection attempt that the client has abandoned may still reach this listener.
            self.listener.close()
            self.listener = ServerListener()
            return OutcomeCheck(input: input, outcome: turn.wait()).checkUnconnected()
        }
        var request: ClientRequest?
        if !input.isEarly { request = socket.readRequest() }
        var answer = ServerBytes(input, request: request)
        var cuts = CutSequence(input.cutSeed)
        var sent: [UInt8] = []
        for piece in cuts.pieces(of: answer.answer(), atMost: 12) { sent += socket.write(piece) }
        var isGone = false
        switch input.ending {
        case .close, .cancel:
            // A socket that is closed with unread bytes is reset.
            if input.isEarly { _ = socket.readRequest() }
            socket.shutDown()
        case .reset:
            socket.reset()
            isGone = true
        case .hold: break
        }
        let outcome = turn.wait()
        if !isGone {
            socket.shutDown()
            socket.waitForEnd()
            socket.reset()
        }
        require(self.listener.isQuiet, "the client connects again")
        if let recording, let name = name() { recording.add(name, input, sent: sent, outcome) }
        OutcomeCheck(input: input, outcome: outcome).check()
    }
}
