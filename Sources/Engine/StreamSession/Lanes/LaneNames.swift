/// The identifiers of the responses on a shared WebSocket, and of their items, each with its response.
///
/// Messages name lanes, and a lane is used again: a late message of a response that has ended carries the name of a
/// lane that another response occupies by then. An identifier counts from its announcement on (`response.created`,
/// `response.output_item.added`). An identifier that two running responses announce identifies neither, as some servers
/// give every response the same identifiers.
///
/// It is a part of `LaneTable` and belongs to its owner.
struct LaneNames: Sendable {
    /// The response that an identifier belongs to.
    enum Holder: Sendable, Equatable {
        /// The identifier was not announced, was forgotten, or is ambiguous.
        case unknown
        /// The response with this number, which may have ended.
        case response(Int)
    }

    /// The maximum number of remembered identifiers, as fingerprints of eight bytes: the newest ones.
    static let maximumCount = 4_096

    /// The number of the response that has an identifier; 0 when several have it.
    private var numbers: [UInt64: Int] = [:]
    private var order: [UInt64] = []
    private var oldest = 0

    /// The response that has the identifier with this fingerprint.
    subscript(name: UInt64) -> Holder {
        guard let number = self.numbers[name], number > 0 else { return .unknown }
        return .response(number)
    }

    /// Records that a response announces an identifier; `isRunning` returns whether the response with a number has not
    /// ended.
    mutating func announce(_ name: UInt64, by number: Int, isRunning: (Int) -> Bool) {
        if let known = self.numbers[name] {
            let isAmbiguous = known == 0 || (known != number && isRunning(known))
            self.numbers[name] = isAmbiguous ? 0 : number
            return
        }
        self.numbers[name] = number
        guard self.order.count == Self.maximumCount else { return self.order.append(name) }
        self.numbers[self.order[self.oldest]] = nil
        self.order[self.oldest] = name
        self.oldest = (self.oldest + 1) % Self.maximumCount
    }
}
