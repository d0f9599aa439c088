// The server's memory: the response that it has in mind for a turn, and those that it keeps.

import ChappieTransport
import StreamTransport

/// The server of one world.
///
/// A value; its world owns it.
struct SimulatedServer {
    /// A response that was made in background, as it was written.
    struct Kept {
        let content: ResponseContent
        let bytes: [UInt8]
        let events: [WireEvent]
        let heldCalls: [Int: [UInt8]]
        /// Indicates whether all items have the same index.
        let sharesIndices: Bool
        /// The number behind which output has come once that its end does not have; nil for none.
        var unlistedBehind: Int?
    }

    /// One answer, before faults are applied.
    struct Answer {
        var content: ResponseContent
        var bytes: [UInt8]
        var events: [WireEvent]
        /// The amount of it that the engine has before the first event.
        var sizeBefore = ContentSize()
        var responseID = ""
        var facts: [SimulatedFact] = []
        /// Indicates whether a consumer could tell it from the answer before.
        var isVaried = false
        /// Indicates whether an event has another number than it had before.
        var isContradictory = false
        /// Calls that stand in the end of the response alone, as a consumer gets them.
        var heldCalls: [Int: [UInt8]] = [:]
        /// The number behind which output comes that the end does not have; nil for none.
        var unlistedBehind: Int?
        /// The position of the event of another API that states the reason to end; nil for a response of Responses.
        var finishIndex: Int?
        /// The position of `response.created` among the events of a new response.
        var createdIndex = 0
        /// The identity of its late events, on a connection that is kept.
        var carried: CarriedResponse?
    }

    private var response: SimulatedResponse
    private var hasAnswered = false
    /// Indicates whether all items of the turn's response have the same index.
    private var sharesIndices = false
    /// Indicates whether the reasoning of the turn's response goes on behind the end of its item.
    private var continuesReasoning = false
    /// Indicates whether that of the last answer does.
    private(set) var hasContinuedReasoning = false
    /// The number of items that the client has given back with its last request.
    private var carriedItemCount = 0
    private var answerCount = 0
    private var kept: [String: Kept] = [:]

    init(_ random: inout SimulatedRandom) { self.response = SimulatedResponse(&random) }

    /// Another request: another response.
    mutating func beginTurn(liePercent: Int, options: SimulationOptions, _ random: inout SimulatedRandom) {
        self.response = SimulatedResponse(&random)
        self.hasAnswered = false
        self.sharesIndices =
            random.chance(liePercent) && options.allows(.sharedIndices) && self.response.canShareIndices
        self.continuesReasoning =
            !self.sharesIndices && random.chance(liePercent) && options.allows(.continuedReasoning)
        self.hasContinuedReasoning = false
        self.carriedItemCount = 0
        self.kept = [:]
    }

    // MARK: New responses

    /// Answers a request whose input holds `itemCount` items of the previous answer.
    mutating func answer(
        carrying itemCount: Int, isKept: Bool, settings: SimulatedConfiguration, options: SimulationOptions,
        _ random: inout SimulatedRandom
    ) -> Answer {
        var facts: [SimulatedFact] = []
        var isVaried = false
        if self.continuesReasoning {
            self.response.endReasoning(givenBack: itemCount, behind: self.carriedItemCount)
        }
        self.carriedItemCount = itemCount
        var rest = self.response.withoutItems(itemCount)
        if self.hasAnswered {
            // With equal indices for all items a moved item could not be detected.
            let percent = self.sharesIndices ? 0 : settings.variationPercent
            isVaried = self.vary(&rest, percent: percent, options: options, &facts, &random)
            self.response = self.response.continued(by: rest, after: itemCount)
        }
        self.hasAnswered = true
        self.answerCount += 1
        if settings.configuration.dialect != .responses {
            return self.answer(in: settings.configuration.dialect, facts: facts, isVaried: isVaried, &random)
        }
        let content = self.response.content
        let sizeBefore = self.response.withOnlyItems(itemCount).content.size
        var style = AnswerStyle(
            &random, responseID: "resp_\(self.answerCount)", attempt: self.answerCount, isKept: isKept,
            liePercent: settings.liePercent)
        if !options.allows(.repeatedItemDone) { style.repeatsDone = false }
        style.lies = style.lies.filter { options.allows($0) }
        if self.sharesIndices, rest.canShareIndices { style.shareIndices() }
        if self.continuesReasoning { style.continueReasoning() }
        var writer = AnswerWriter(rest, from: sizeBefore, style: style, random: SimulatedRandom(seed: random.next()))
        writer.write()
        facts += style.facts + writer.facts
        if itemCount > 0 { facts.append(.carriedItems) }
        if isKept {
            self.kept[style.responseID] = Kept(
                content: content, bytes: writer.arena.bytes, events: writer.events, heldCalls: writer.heldCalls,
                sharesIndices: style.sharesIndices)
        }
        var answer = Answer(
            content: content, bytes: writer.arena.bytes, events: writer.events, sizeBefore: sizeBefore,
            responseID: style.responseID, facts: facts, isVaried: isVaried, heldCalls: writer.heldCalls)
        // Another answer may say the same at once, and so in another order.
        if writer.plan.holdsBack { answer.isVaried = true }
        self.hasContinuedReasoning = writer.plan.continuedText != nil
        answer.createdIndex = writer.createdIndex
        answer.carried = CarriedResponse(writer, sizeBefore: sizeBefore)
        if random.chance(settings.liePercent / 2) { answer.breakOrder(writer, options: options, &random) }
        self.kept[style.responseID]?.unlistedBehind = answer.unlistedBehind
        answer.tellLies(
            isResumable: isKept && settings.resumes, percent: settings.liePercent,
            options: options, &random)
        return answer
    }

    private func answer(
        in dialect: ChappieDialect, facts: [SimulatedFact], isVaried: Bool, _ random: inout SimulatedRandom
    ) -> Answer {
        let response = self.response.expressed(in: dialect)
        let writer = DialectAnswerWriter(
            response, in: dialect, number: self.answerCount, random: SimulatedRandom(seed: random.next()))
        var answer = Answer(
            content: response.content, bytes: writer.arena.bytes, events: writer.events, facts: facts,
            isVaried: isVaried, heldCalls: writer.heldCalls)
        answer.finishIndex = writer.finishIndex
        return answer
    }

    private func vary(
        _ rest: inout SimulatedResponse, percent: Int, options: SimulationOptions, _ facts: inout [SimulatedFact],
        _ random: inout SimulatedRandom
    ) -> Bool {
        if options.allows(.respelledArguments), random.chance(10),
            let other = rest.varied(.respelledArguments, &random)
        {
            rest = other
            facts.append(.respelledArguments)
        }
        let variation = random.pick(SimulatedResponse.Variation.allCases)
        guard random.chance(percent), !variation.isSame, options.allows(variation.fact),
            let other = rest.varied(variation, &random)
        else {
            facts.append(.sameAnswer)
            return false
        }
        rest = other
        facts.append(variation.fact)
        return true
    }

    // MARK: Responses that are kept

    /// The continuation of a response that is asked for again.
    enum Resumption {
        case answer(Answer)
        case gone(status: Int)
    }

    /// The events behind a number; nil for all of them.
    mutating func resume(
        _ responseID: String, after number: Int?, settings: SimulatedConfiguration, options: SimulationOptions,
        _ random: inout SimulatedRandom
    ) -> Resumption {
        guard let kept = self.kept[responseID] else { return .gone(status: 404) }
        if random.chance(settings.faultPercent / 5) {
            self.kept[responseID] = nil
            return .gone(status: random.pick([400, 404]))
        }
        if let unlisted = kept.unlistedBehind {
            // It is unknown whether the client has the event without a number behind this one.
            if number == unlisted { return .gone(status: 404) }
            // A client that has not had it will not get it, and one that begins anew has given it up.
            if number.map({ $0 < unlisted }) ?? true { self.kept[responseID]?.unlistedBehind = nil }
        }
        let first = kept.events.firstIndex { event in event.number.map { $0 > number ?? -1 } ?? false }
        let start = first ?? kept.events.count
        let sizeBefore = start == 0 ? ContentSize() : kept.events[start - 1].size
        var answer = Answer(
            content: kept.content, bytes: kept.bytes, events: Array(kept.events[start...]), sizeBefore: sizeBefore,
            responseID: responseID, facts: [.resumed], heldCalls: kept.heldCalls)
        // An item at the index of one that is done looks like another response's: the engine may stop reading there.
        if kept.sharesIndices {
            answer.events.doubt()
            answer.facts.append(.sharedIndices)
        }
        if let number, let unlisted = kept.unlistedBehind, number > unlisted { answer.refuteEnd() }
        guard random.chance(settings.faultPercent) else {
            answer.tellLiesOfResumption(percent: settings.liePercent, options: options, &random)
            return .answer(answer)
        }
        switch random.below(3) {
        case 0: Self.repeatEvents(of: kept, before: start, in: &answer, &random)
        case 1: Self.contradict(in: &answer, before: number)
        default: answer.makeGap(&random)
        }
        return .answer(answer)
    }

    private static func repeatEvents(
        of kept: Kept, before start: Int, in answer: inout Answer, _ random: inout SimulatedRandom
    ) {
        guard start > 0 else { return }
        let repeated = kept.events[(start - 1 - random.below(start))..<start].map { event in
            var event = event
            event.size = answer.sizeBefore
            return event
        }
        answer.events.insert(contentsOf: repeated, at: 0)
        answer.facts.append(.resumedWithRepeats)
    }

    /// Changes a repeated event so that it contradicts the first one.
    private static func contradict(in answer: inout Answer, before number: Int?) {
        guard let number else { return }
        let json =
            #"{"type":"response.output_text.delta","sequence_number":\#(number),"output_index":0,"#
            + #""content_index":0,"delta":"contradiction"}"#
        let start = answer.bytes.count
        answer.bytes.append(contentsOf: json.utf8)
        answer.events.insert(
            WireEvent(range: start..<answer.bytes.count, size: answer.sizeBefore, number: number), at: 0)
        answer.facts.append(.resumedWithContradiction)
        answer.isVaried = true
        answer.isContradictory = true
    }
}

extension SimulatedResponse.Variation {
    /// The fact as which it is counted.
    fileprivate var fact: SimulatedFact {
        switch self {
        case .respelledArguments: .respelledArguments
        case .commonBeginning: .commonBeginning
        case .shorter: .shorterAnswer
        case .insertedItem: .insertedItem
        case .otherTool: .otherTool
        case .otherArguments: .otherArguments
        case .otherText: .otherText
        case .otherOrder: .otherOrder
        case .otherResponse: .otherResponse
        }
    }
}
