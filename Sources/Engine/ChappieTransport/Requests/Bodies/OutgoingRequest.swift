import ResponseEvents
import StreamSession

/// The request of a turn in the form in which it is sent.
///
/// It has the caller's request in both its forms, the finished items of broken attempts, which go back to the server as
/// input, and the turn state that the server requires back. It belongs to the turn's driver.
struct OutgoingRequest {
    /// A finished item of the current attempt.
    private struct FinishedItem {
        /// The item as it was sent.
        let json: [UInt8]
        let isCall: Bool
    }

    private let lane: String?
    private let usesLanes: Bool
    private let fieldLines: [String]
    private let original: RequestBodies
    /// The original with the carried items behind its input.
    private var bodies: RequestBodies
    /// Finished items of the current attempt, in order, without a gap.
    private var finishedItems: [FinishedItem] = []
    /// Items that earlier attempts have finished, and their tools' outputs: a part of the request.
    private(set) var carriedItems: [[UInt8]] = []
    /// The value that the server requires in every later request of the turn; nil without one.
    private(set) var turnState: String?

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - request: the caller's request.
    ///   - usesLanes: whether a WebSocket carries several responses.
    ///   - metadata: members for `client_metadata` of a WebSocket's message.
    ///   - form: the way in which the server takes requests.
    /// - Throws: an error when the body is not a JSON object.
    init(
        _ request: ChappieTransportRequest, usesLanes: Bool, metadata: [String: String],
        form: RequestForm = RequestForm()
    ) throws(ResponseRequestBodyError) {
        self.lane = request.lane
        self.usesLanes = usesLanes
        self.fieldLines = request.fieldLines
        self.turnState = request.turnState
        self.original = try RequestBodies(
            request, usesLanes: usesLanes, metadata: metadata, form: form)
        self.bodies = self.original
    }

    // MARK: Facts

    /// The body of a POST.
    var http: [UInt8] { self.bodies.http }

    /// Indicates whether the response is made in the background, which can be requested over HTTP only.
    var isBackground: Bool { self.bodies.isBackground }

    /// Indicates whether the server can be asked for the rest of a broken response.
    var isResumable: Bool { self.bodies.isResumable }

    /// The lane whose kept connection the turn uses: the one that the request, or its body, names.
    var keptLane: Lane { self.lane(self.lane ?? (self.usesLanes ? self.laneOfBody : nil)) }

    /// Returns the lane of this name whose connections have the request's own fields.
    func lane(_ name: String?) -> Lane { Lane(name: name, fieldLines: self.fieldLines) }

    /// The lane that the request names; nil when lanes are not used.
    var laneName: String? { self.usesLanes ? self.lane ?? self.laneOfBody : nil }

    /// The lane of a WebSocket that the events of the response name.
    var streamID: [UInt8]? { self.bodies.streamID }

    private var laneOfBody: String? { self.streamID.map { String(decoding: $0, as: UTF8.self) } }

    // MARK: Messages of a WebSocket

    /// Returns the message that requests the response.
    ///
    /// - Parameter exchange: the last exchange of the connection, if the request may continue it.
    /// - Returns: the message, and whether it holds only the rest since that exchange.
    func message(after exchange: KeptExchange?) -> (text: [UInt8], isContinued: Bool) {
        let continuation = exchange?.continuation(of: self.bodies.body)
        return (self.bodies.webSocketMessage(continuation, turnState: self.turnState), continuation != nil)
    }

    /// Returns whether the message holds only the rest since an exchange.
    func continues(_ exchange: KeptExchange?) -> Bool { exchange?.continuation(of: self.bodies.body) != nil }

    /// Returns whether the message is too large for a WebSocket.
    ///
    /// - Parameter exchange: the last exchange of the connection; nil for a connection without one, on which the whole
    ///   request is sent.
    /// - Returns: true when only HTTP can carry it.
    func isTooLarge(after exchange: @autoclosure () -> KeptExchange?) -> Bool {
        guard self.bodies.isTooLargeForWebSocket(turnState: self.turnState) else { return false }
        guard let exchange = exchange(), let continuation = exchange.continuation(of: self.bodies.body) else {
            return true
        }
        let message = self.bodies.webSocketMessage(continuation, turnState: self.turnState)
        return message.count >= RequestBodies.messageByteCountLimit
    }

    /// Returns the exchange of a connection after a complete response.
    func exchange(
        _ record: ResponseRecord, responseID: String?, earlier: EarlierResponses, hasOutput: Bool, isWarmUp: Bool
    ) -> KeptExchange {
        KeptExchange(
            body: self.bodies.body, record: record, responseID: responseID, earlier: earlier, hasOutput: hasOutput,
            isWarmUp: isWarmUp)
    }

    // MARK: Turn state

    private static let turnStateByteCountLimit = 8 << 10

    /// Stores the server's turn state: the first value of a turn counts, and has 8 KiB at most.
    mutating func learn(turnState: String?) {
        guard self.turnState == nil, let turnState, !turnState.isEmpty,
            turnState.utf8.count <= Self.turnStateByteCountLimit
        else { return }
        self.turnState = turnState
    }

    // MARK: Finished items

    /// Returns whether a finished item can go back as input, if the response breaks.
    ///
    /// A call may go back only with its output, so without a source of outputs no items from the first call on can be
    /// carried. The same applies to an item that no server takes back: the model makes it again, and the later items as
    /// well.
    func canCarry(_ json: [UInt8], isCall: Bool, hasOutputs: Bool) -> Bool {
        self.bodies.takesItems && (!isCall || hasOutputs) && InputItem(json) != nil
    }

    /// Stores an item that the attempt has finished.
    mutating func finished(_ json: [UInt8], isCall: Bool) {
        self.finishedItems.append(FinishedItem(json: json, isCall: isCall))
    }

    /// Forgets the finished items, as another response follows.
    mutating func dropFinishedItems() { self.finishedItems.removeAll() }

    /// Adds the first remaining finished items behind the input, up to a call, whose output has to follow it.
    ///
    /// - Parameter count: the number of items that remain; it is lowered by those that were added.
    /// - Returns: the call; nil once all items are carried.
    mutating func carryItems(_ count: inout Int) -> [UInt8]? {
        while count > 0, let item = self.finishedItems.first {
            self.finishedItems.removeFirst()
            count -= 1
            self.carriedItems.append(item.json)
            if item.isCall { return item.json }
        }
        self.finishedItems.removeAll()
        self.bodies = self.original.carrying(self.carriedItems) ?? self.bodies
        return nil
    }

    /// Adds a call's output behind it.
    mutating func carry(output: [UInt8]) { self.carriedItems.append(output) }
}
