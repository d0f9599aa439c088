// The parts of an input: three bytes of parameters, and the content.

/// The parameters of a run.
struct EngineInput {
    /// The source of the server's bytes.
    enum Mode {
        /// The input is everything that the server sends.
        case raw
        /// A right head, then the input.
        case headed
        /// A right head, then the lines of the input, an event each.
        case lines
        /// A response without a fault, which the input describes.
        case scripted
    }

    /// The end of the server.
    enum Ending {
        /// It closes its side when all is sent.
        case close
        /// It resets the connection then.
        case reset
        /// It stays open, and sends no more.
        case hold
        /// It closes its side, and the consumer stops the stream at the first event.
        case cancel
    }

    let isWebSocket: Bool
    let mode: Mode
    let ending: Ending
    /// Indicates whether a response over HTTP is sent before the request was read.
    let isEarly: Bool
    let offersCompression: Bool
    /// The choice of delivered raw events, 0 to 2.
    let rawEvents: Int
    let reportsDiagnostics: Bool
    /// Indicates whether what a server may send is limited to a few hundred bytes; never with a script.
    let hasSmallLimits: Bool
    /// The framing of the answer, 0 to 15.
    let shape: Int
    /// The seed of the cuts.
    let cutSeed: UInt8
    /// The content for the mode.
    let content: [UInt8]
    /// The response without a fault, in the mode that has one.
    let script: ScriptedResponse

    init(_ bytes: [UInt8]) {
        let choices = (bytes + [0, 0, 0]).prefix(3)
        self.isWebSocket = choices[0] & 1 == 0
        self.mode = [.scripted, .raw, .headed, .lines][Int(choices[0] >> 1 & 3)]
        let endings: [Ending] = [.close, .close, .close, .close, .reset, .reset, .hold, .cancel]
        let ending = endings[Int(choices[0] >> 3 & 7)]
        // A server that holds costs the time that it is waited for.
        self.ending = ending == .hold && !choices[2].isMultiple(of: 4) ? .close : ending
        self.isEarly = choices[0] & 0x40 != 0 && !self.isWebSocket
        self.offersCompression = choices[0] & 0x80 == 0
        self.rawEvents = Int(choices[1] & 3) % 3
        self.reportsDiagnostics = choices[1] & 4 != 0
        self.hasSmallLimits = choices[1] & 8 != 0 && self.mode != .scripted
        self.shape = Int(choices[1] >> 4)
        self.cutSeed = choices[2]
        self.content = Array(bytes.dropFirst(3))
        self.script = ScriptedResponse(self.mode == .scripted ? self.content : [])
    }

    /// Indicates whether the turn must end well, because the server has no fault.
    var mustComplete: Bool {
        switch (self.mode, self.ending) {
        case (.scripted, .close), (.scripted, .hold): true
        default: false
        }
    }

    /// Indicates whether the turn may time out: the server keeps the connection open and sends no end.
    var isGivenUp: Bool { self.ending == .hold && !self.mustComplete }
}

/// Numbers that follow from one byte, so that a crash can be run again.
struct CutSequence {
    private var state: UInt64

    init(_ seed: UInt8) { self.state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 }

    /// The next number below a bound.
    mutating func next(below bound: Int) -> Int {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(self.state >> 33) % max(1, bound)
    }

    /// Cuts bytes into at most `count` pieces; a seed of 0 makes no cut.
    mutating func pieces(of bytes: [UInt8], atMost count: Int) -> [ArraySlice<UInt8>] {
        guard self.state != 0 else { return [bytes[...]] }
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes[...]
        while pieces.count < count - 1, rest.count > 1 {
            let length = 1 + self.next(below: min(rest.count - 1, pieces.count.isMultiple(of: 3) ? 4 : rest.count))
            pieces.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        if !rest.isEmpty { pieces.append(rest) }
        return pieces
    }
}
