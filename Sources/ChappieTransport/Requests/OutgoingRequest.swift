import ResponseEvents
import StreamSession

/// The request of a turn in the form in which it goes out.
///
/// It has the caller's request in both its forms, the finished items of broken attempts, which go back to the server as
/// input, and the turn state that the server wants to have echoed. It belongs to the turn's driver.
struct OutgoingRequest {
    /// A finished item of the attempt that runs.
    private struct FinishedItem {
        /// The item as it was sent.
        let json: [UInt8]
        let isCall: Bool
    }

    private let lane: String?
    private let usesLanes: Bool
    private let original: RequestBodies
    /// The original with the carried items behind its input.
    private var bodies: RequestBodies
    /// Finished items of the attempt that runs, in order, without a gap.
    private var finishedItems: [FinishedItem] = []
    /// Items that earlier attempts have finished, and their tools' outputs: a part of the request.
    private(set) var carriedItems: [[UInt8]] = []
    /// The value that the server wants to have echoed in every later request of the turn; nil without one.
    private(set) var turnState: String?

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - request: the caller's request.
    ///   - usesLanes: whether a WebSocket carries several responses.
    ///   - metadata: members for `client_metadata` of a WebSocket's message.
    /// - Throws: an error when the body is not a JSON object.
    init(
        _ request: ChappieTransportRequest, usesLanes: Bool, metadata: [String: String]
    ) throws(ResponseRequestBodyError) {
        self.lane = request.lane
        self.usesLanes = usesLanes
        self.turnState = request.turnState
        self.original = try RequestBodies(request, usesLanes: usesLanes, metadata: metadata)
        self.bodies = self.original
    }

    // MARK: Facts

    /// The body of a POST.
    var http: [UInt8] { self.bodies.http }

    /// Indicates whether the response is made in background, which only HTTP can ask for.
    var isBackground: Bool { self.bodies.isBackground }

    /// Indicates whether the server can be asked for the rest of a broken response.
    var isResumable: Bool { self.bodies.isResumable }

    /// The lane whose kept connection the turn uses: the one that the request, or its body, names.
    var keptLane: Lane { Lane(name: self.lane ?? (self.usesLanes ? self.laneOfBody : nil)) }

    /// The lane that the request names; nil when lanes are not used.
    var laneName: String? { self.usesLanes ? self.lane ?? self.laneOfBody : nil }

    /// The lane of a WebSocket that the events of the response name.
    var streamID: [UInt8]? { self.bodies.streamID }

    private var laneOfBody: String? { self.streamID.map { String(decoding: $0, as: UTF8.self) } }

    // MARK: Messages of a WebSocket

    /// The message that asks for the response.
    ///
    /// - Parameter exchange: the exchange that the connection carried last, if the request may go on from it.
    /// - Returns: the message, and whether it holds only what is new since that exchange.
    func message(after exchange: KeptExchange?) -> (text: [UInt8], isContinued: Bool) {
        let continuation = exchange?.continuation(of: self.bodies.body)
        return (self.bodies.webSocketMessage(continuation, turnState: self.turnState), continuation != nil)
    }

    /// Returns whether the message is too large for a WebSocket.
    ///
    /// - Parameter exchange: the exchange that the connection carried last; nil for a connection that has carried
    ///   nothing, on which the whole request is sent.
    /// - Returns: true when only HTTP can carry it.
    func isTooLarge(after exchange: @autoclosure () -> KeptExchange?) -> Bool {
        guard self.bodies.isTooLargeForWebSocket(turnState: self.turnState) else { return false }
        guard let exchange = exchange(), let continuation = exchange.continuation(of: self.bodies.body) else {
            return true
        }
        let message = self.bodies.webSocketMessage(continuation, turnState: self.turnState)
        return message.count >= RequestBodies.messageByteCountLimit
    }

    /// The exchange that a connection has carried once the response is complete.
    func exchange(
        _ record: ResponseRecord, responseID: String?, earlier: EarlierResponses, hasOutput: Bool, isWarmUp: Bool
    ) -> KeptExchange {
        KeptExchange(
            body: self.bodies.body, record: record, responseID: responseID, earlier: earlier, hasOutput: hasOutput,
            isWarmUp: isWarmUp)
    }

    // MARK: Turn state

    private static let turnStateByteCountLimit = 8 << 10

    /// Remembers the server's turn state: the first value of a turn counts, and has 8 KiB at most.
    mutating func learn(turnState: String?) {
        guard self.turnState == nil, let turnState, !turnState.isEmpty,
            turnState.utf8.count <= Self.turnStateByteCountLimit
        else { return }
        self.turnState = turnState
    }

    // MARK: Finished items

    /// Returns whether a finished item can go back as input, if the response breaks.
    ///
    /// A call may go back only with its output, so without a source of outputs it ends what can be carried. So does an
    /// item that no server takes back: the model makes it again, and what follows it as well.
    func canCarry(_ item: ItemSummary, hasOutputs: Bool) -> Bool {
        guard self.bodies.takesItems, !item.isCall || hasOutputs else { return false }
        return unsafe InputItem(Array(item.json.utf8)) != nil
    }

    /// Remembers an item that the attempt has finished.
    mutating func finished(_ item: ItemSummary) {
        self.finishedItems.append(FinishedItem(json: unsafe Array(item.json.utf8), isCall: item.isCall))
    }

    /// Forgets the finished items: what follows is another response.
    mutating func dropFinishedItems() { self.finishedItems.removeAll() }

    /// Puts the first finished items that are left behind the input, up to a call, whose output has to follow it.
    ///
    /// - Parameter count: how many items are left to carry; it is lowered by those that were.
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

    /// Puts a call's output behind it.
    mutating func carry(output: [UInt8]) { self.carriedItems.append(output) }
}
