// The faults that a server can be asked for.
//
// Immutable values, and the JSON form that scenario files use.

extension ChappieTestServer {
    /// One fault, and the attempts that it applies to.
    ///
    /// An *attempt* is one request of the responses endpoint: a POST or a WebSocket's opening handshake. Attempts count
    /// from 1 over the server's life. Several faults may apply to one attempt.
    public struct Fault: Codable, Equatable, Sendable {
        /// The first attempt that it applies to; nil is 1.
        package var firstAttempt: Int?
        /// The last attempt that it applies to; nil is all later ones.
        package var lastAttempt: Int?
        /// The transport that it applies to; nil is both.
        package var transport: Transport?
        /// The response of a WebSocket in which events are counted, from 1, warm-ups not counted; nil is the first.
        package var response: Int?
        /// The action of the fault.
        package var action: Action

        /// Creates a fault for some attempts.
        public init(
            _ fault: Self, attempts: ClosedRange<Int>, transport: Transport? = nil, response: Int? = nil
        ) {
            self.init(action: fault.action, attempts: attempts, transport: transport, response: response)
        }

        /// Creates a fault for an attempt and all later ones; for every one when `first` is not given.
        public init(_ fault: Self, from first: Int = 1, transport: Transport? = nil, response: Int? = nil) {
            self.init(action: fault.action, from: first, transport: transport, response: response)
        }

        /// Creates a fault of any action for some attempts.
        package init(
            action: Action, attempts: ClosedRange<Int>, transport: Transport? = nil, response: Int? = nil
        ) {
            self.init(action: action, from: attempts.lowerBound, transport: transport, response: response)
            self.lastAttempt = attempts.upperBound
        }

        /// Creates a fault of any action for an attempt and all later ones.
        package init(action: Action, from first: Int = 1, transport: Transport? = nil, response: Int? = nil) {
            self.action = action
            self.firstAttempt = first
            self.transport = transport
            self.response = response
        }

        /// Returns whether the fault applies to an attempt.
        package func applies(toAttempt attempt: Int, transport: Transport) -> Bool {
            attempt >= self.firstAttempt ?? 1 && attempt <= self.lastAttempt ?? Int.max
                && (self.transport == nil || self.transport == transport)
        }
    }
}

// The faults that tests of programs need, each of every attempt. A scenario has all actions.
extension ChappieTestServer.Fault {
    /// Cuts the connection after a number of bytes of the answer, of which its head is a part.
    public static func cut(afterByte byte: Int) -> Self { Self(action: .cut(afterByte: byte)) }
    /// Cuts the connection after an event; 0 is before the first one.
    public static func cutAfterEvent(event: Int) -> Self { Self(action: .cutAfterEvent(event: event)) }
    /// Neither reads nor writes after a number of bytes of the answer, and keeps the connection open.
    public static func stall(afterByte byte: Int) -> Self { Self(action: .stall(afterByte: byte)) }
    /// Sends only signs of life after an event, as configured; pings are answered.
    public static func hang(afterEvent event: Int) -> Self { Self(action: .hang(afterEvent: event)) }
    /// Pauses after an event, and then continues; signs of life are sent meanwhile as configured.
    public static func pause(afterEvent event: Int, seconds: Double) -> Self {
        Self(action: .pause(afterEvent: event, seconds: seconds))
    }
    /// Writes slowly, at this rate.
    public static func throttle(bytesPerSecond: Double) -> Self {
        Self(action: .throttle(bytesPerSecond: bytesPerSecond))
    }
    /// Answers a POST, or refuses an upgrade, with a status, fields and a body; an error of the status without one.
    public static func answer(
        status: Int, fields: [ChappieTestServer.Field] = [], body: String? = nil
    ) -> Self {
        Self(action: .answer(status: status, fields: fields, body: body))
    }
    /// Sends a Close frame after an event, or right after the 101 when there is none; no code is an empty frame.
    public static func closeWebSocket(code: Int? = nil, reason: String? = nil, afterEvent event: Int? = nil) -> Self {
        Self(action: .closeWebSocket(code: code, reason: reason, afterEvent: event))
    }
    /// Sends another text from a Unicode scalar of the text on.
    public static func divergeText(fromScalar scalar: Int) -> Self { Self(action: .divergeText(fromScalar: scalar)) }
    /// Sends a payload of any kind, JSON or not, before an event; `$response` in it is the response's id.
    public static func insert(payload: String, beforeEvent event: Int) -> Self {
        Self(action: .insert(payload: payload, beforeEvent: event))
    }
    /// Ends the stream in order after an event, or just before the terminal one when none is given.
    public static func endWithoutTerminal(afterEvent event: Int? = nil) -> Self {
        Self(action: .endWithoutTerminal(afterEvent: event))
    }
    /// Sends `response.failed` after an event, instead of the rest.
    public static func fail(code: String, message: String? = nil, afterEvent event: Int) -> Self {
        Self(action: .fail(code: code, message: message, afterEvent: event))
    }
}

extension ChappieTestServer.Fault {
    /// The byte from which bytes are counted.
    package enum ByteOrigin: String, Codable, Hashable, Sendable {
        /// The first byte written after the request was read.
        case response
        /// The first byte after the header section: a WebSocket's first frame, a body's first chunk.
        case body
    }

    /// The way in which a connection is cut.
    package enum ConnectionCut: String, Codable, Hashable, Sendable, CaseIterable {
        /// In TCP's order, without a message of the protocols above: FIN.
        case end
        /// At once: RST.
        case reset
        /// With a fatal TLS alert before the FIN; without TLS like `end`.
        case alert
    }

    /// An error that is sent as an event.
    package struct ErrorEvent: Codable, Equatable, Sendable {
        /// The two shapes that such an event has.
        package enum Shape: String, Codable, Hashable, Sendable {
            /// `code` and `message` at top level.
            case flat
            /// An `error` object, with the status and fields of an HTTP answer beside it.
            case nested
        }

        /// The shape.
        package var shape: Shape
        /// The status beside a nested error.
        package var status: Int?
        /// The name of the status member; nil is `status`.
        package var statusName: String?
        /// The error's type; nil is `invalid_request_error`.
        package var type: String?
        /// The error's code.
        package var code: String?
        /// The message.
        package var message: String?
        /// The fields of the HTTP answer that the event represents.
        package var fields: [ChappieTestServer.Field]?

        /// Creates an error.
        package init(
            shape: Shape, status: Int? = nil, statusName: String? = nil, type: String? = nil, code: String? = nil,
            message: String? = nil, fields: [ChappieTestServer.Field]? = nil
        ) {
            self.shape = shape
            self.status = status
            self.statusName = statusName
            self.type = type
            self.code = code
            self.message = message
            self.fields = fields
        }
    }

    /// The action of a fault.
    ///
    /// Events count from 1 within a response, in the order in which they are sent, usage limits and metadata included.
    /// `afterEvent: 0` is before the first one. Text changes and large deltas are the scripted model's.
    package enum Action: Codable, Equatable, Sendable {
        /// Cut the connection after this number of bytes; `origin` is `response` and `with` is `end` by default.
        ///
        /// Header fields, chunk framing and frame headers count. TLS's own bytes do not.
        case cut(afterByte: Int, origin: ByteOrigin? = nil, with: ConnectionCut? = nil)
        /// Cut the connection after an event.
        case cutAfterEvent(event: Int, with: ConnectionCut? = nil)
        /// Cut the connection right before the terminal event.
        case cutBeforeTerminal(with: ConnectionCut? = nil)
        /// Cut the connection right after the terminal event.
        case cutAfterTerminal(with: ConnectionCut? = nil)
        /// Keep the connection open but neither read nor write after this number of bytes.
        case stall(afterByte: Int, origin: ByteOrigin? = nil)
        /// Send only signs of life after an event, as configured; pings are answered.
        case hang(afterEvent: Int)
        /// Pause after an event, and then continue; signs of life are sent meanwhile as configured.
        case pause(afterEvent: Int, seconds: Double)
        /// Write at this rate: the bytes of a hundredth of a second at a time, or one.
        case throttle(bytesPerSecond: Double)

        /// Answer a POST, or refuse an upgrade, with a status, fields and a body.
        case answer(status: Int, fields: [ChappieTestServer.Field]? = nil, body: String? = nil)
        /// Send a text that is not HTTP and close.
        case answerWithoutHTTP(text: String? = nil)
        /// Send a `Sec-WebSocket-Accept` that belongs to another key.
        case wrongAcceptKey
        /// Claim an extension that was not offered.
        case unofferedExtension(value: String? = nil)
        /// Claim a subprotocol that was not offered.
        case unofferedSubprotocol(value: String? = nil)
        /// Add fields until the header section exceeds this number of bytes.
        case largeHeaderSection(byteCount: Int)

        /// Send a Close frame after an event, or right after the 101 when there is none; no code is an empty frame.
        case closeWebSocket(code: Int? = nil, reason: String? = nil, afterEvent: Int? = nil)
        /// Send a Close frame when a response is complete.
        case closeAfterResponse(code: Int? = nil, reason: String? = nil)
        /// Send an event as a binary message.
        case binaryEvent(event: Int)
        /// Divide every message into frames of this number of bytes, with pings between them if asked for.
        case fragment(byteCount: Int, pingsBetween: Bool? = nil)
        /// Send a ping before every event.
        case pingBeforeEvents

        /// Send another text from a Unicode scalar of the text on.
        case divergeText(fromScalar: Int, replacement: String? = nil)
        /// End the text after this number of Unicode scalars.
        case shortenText(toScalar: Int)
        /// Begin the text with one delta of this number of bytes.
        case largeDelta(byteCount: Int)

        /// Send a payload of any kind, JSON or not, before an event.
        ///
        /// `$response` in it is replaced by the response's id, `$earlier` by that of the WebSocket's previous response.
        case insert(payload: String, beforeEvent: Int)
        /// Send a payload after the last event, with the replacements of `insert`.
        case append(payload: String)
        /// Send an event twice.
        case repeatEvent(event: Int)
        /// Leave an event out.
        case dropEvent(event: Int)
        /// Send an event after the one that follows it.
        case swapEvents(event: Int)
        /// Replace a member of an event, or of all up to `through`, by a JSON text; dots lead into objects.
        case changeMember(event: Int, through: Int? = nil, member: String, value: String)
        /// Renumber an event and all later ones, in the order in which earlier faults leave them.
        case renumber(event: Int, from: Int)
        /// Resume a background response this number of events later than asked, or earlier when negative.
        case resumeElsewhere(offset: Int)
        /// Send a `keepalive` event before every event.
        case keepaliveBeforeEvents
        /// End a compressed event stream without its last block and trailer.
        case truncateContent
        /// End the stream in order after an event, or just before the terminal one when none is given.
        case endWithoutTerminal(afterEvent: Int? = nil)
        /// Write a text after an event of an event stream, instead of the rest; no effect on a WebSocket.
        ///
        /// The text is the head and body of a 502 in HTTP/1.0 by default, as written by servers that fail after the
        /// head of their answer. It is written outside of the chunks, and the connection ends behind it; with `inChunk`
        /// it is a chunk, and the body ends in order.
        case interruptWithText(text: String? = nil, afterEvent: Int, inChunk: Bool? = nil)
        /// Send `response.failed` after an event, instead of the rest.
        case fail(code: String, message: String? = nil, afterEvent: Int)
        /// Send `response.incomplete` after an event, instead of the rest.
        case incomplete(reason: String, afterEvent: Int)
        /// Send an error event after an event, instead of the rest.
        case error(event: ErrorEvent, afterEvent: Int)
    }
}
