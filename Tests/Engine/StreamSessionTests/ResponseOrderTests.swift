// The verdicts on odd, foreign and unreadable events.
import StreamSession
import Testing

@Suite struct ResponseOrderTests {
    /// A response that has been created, with one item added.
    private static func begun(after previous: String? = nil) -> ResponseOrder {
        var order = ResponseOrder(previousResponseID: previous)
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0) == .fine)
        return order
    }

    @Test func aResponseInOrderIsFine() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.mentioned(responseID: "a") == .fine)
        for item in 0..<3 {
            #expect(order.itemAdded(item) == .fine)
            for part in 0..<3 { #expect(order.delta(in: .text(item, part: part)) == .fine) }
            #expect(order.itemDone(item) == .fine)
            #expect(order.finishedItemCount == item + 1)
        }
        #expect(order.mentioned(responseID: nil) == .fine)
        #expect(order.terminal(responseID: "a") == .fine)
        for oddity in ResponseOrder.Oddity.allCases { #expect(!order.hasSeen(oddity)) }
    }

    /// More output of the current slot is judged by a shorter path.
    ///
    /// A mention without a name only disables that path.
    @Test(arguments: 0..<200)
    func outputOfTheSameSlotIsJudgedLikeAnyOther(seed: Int) {
        var state = UInt64(seed)
        func below(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        let previous: String? = seed.isMultiple(of: 3) ? "p" : nil
        var order = ResponseOrder(previousResponseID: previous)
        var other = ResponseOrder(previousResponseID: previous)
        for _ in 0..<60 {
            _ = other.mentioned(responseID: nil)
            let index = [0, 0, 0, 1, 2, -1][below(6)]
            switch below(12) {
            case 0: #expect(order.created(responseID: "a") == other.created(responseID: "a"))
            case 1: #expect(order.itemAdded(index) == other.itemAdded(index))
            case 2: #expect(order.itemDone(index) == other.itemDone(index))
            case 3 where below(8) == 0: #expect(order.terminal(responseID: "a") == other.terminal(responseID: "a"))
            case 4: #expect(order.mentioned(responseID: "b") == other.mentioned(responseID: "b"))
            default:
                let slot = ReplaySlot.text(index, part: below(2))
                #expect(order.delta(in: slot) == other.delta(in: slot))
            }
        }
        for oddity in ResponseOrder.Oddity.allCases { #expect(order.hasSeen(oddity) == other.hasSeen(oddity)) }
        #expect(order.finishedItemCount == other.finishedItemCount)
    }

    @Test func itemsMayOverlap() {
        var order = Self.begun()
        #expect(order.itemAdded(1) == .fine)
        #expect(order.delta(in: .text(1)) == .fine)
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(1) == .fine)
        #expect(order.finishedItemCount == 0)
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(0) == .fine)
        #expect(order.finishedItemCount == 2)
    }

    // MARK: Ends

    @Test func aSecondEndIsForeign() {
        for second in ["a", "b", nil] {
            var order = Self.begun()
            #expect(order.terminal(responseID: "a") == .fine)
            #expect(order.terminal(responseID: second) == .foreign)
        }
    }

    /// Recorded of a server: an error without an identifier, then the failed response.
    @Test func anErrorAndThenAFailedResponseAreOneEnd() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.terminal(responseID: nil) == .fine)
        #expect(order.terminal(responseID: "a") == .foreign)
    }

    @Test func noEventBelongsToAResponseAfterItsEnd() {
        var order = Self.begun()
        #expect(order.terminal(responseID: "a") == .fine)
        #expect(order.delta(in: .text(0)) == .foreign)
        #expect(order.delta(in: .text(-1)) == .foreign)
        #expect(order.itemAdded(1) == .foreign)
        #expect(order.itemDone(0) == .foreign)
        #expect(order.mentioned(responseID: "a") == .foreign)
        // Two whole responses in one stream, as from a gateway that requests twice.
        #expect(order.created(responseID: "b") == .foreign)
        #expect(order.delta(in: .text(0)) == .foreign)
        #expect(order.terminal(responseID: "b") == .foreign)
        #expect(order.finishedItemCount == 0)
    }

    @Test func anEndWithoutABeginningIsAnEnd() {
        var order = ResponseOrder()
        #expect(order.terminal(responseID: nil) == .fine)
        #expect(order.terminal(responseID: nil) == .foreign)
    }

    @Test func anEndWithAnotherIdentifierIsAnEnd() {
        var order = Self.begun(after: "z")
        #expect(order.mentioned(responseID: "b") == .tolerated(.responseIDChanged))
        #expect(order.itemDone(0) == .fine)
        #expect(order.terminal(responseID: "c") == .fine)
        #expect(order.delta(in: .text(0)) == .foreign)
        order = Self.begun()
        #expect(order.itemDone(0) == .fine)
        #expect(order.terminal(responseID: "b") == .tolerated(.responseIDChanged))
        #expect(order.terminal(responseID: "a") == .foreign)
    }

    /// Its list decides whether it is this response's; without one, whether an item is left.
    @Test func anEndWithAnotherIdentifierAndNoListEndsTheResponseBehindAllItems() {
        var order = Self.begun()
        #expect(order.delta(in: .text(1)) == .tolerated(.itemNotAdded))
        let verdicts: [(index: Int?, noList: ResponseOrder.Verdict, failure: ResponseOrder.Verdict)] = [
            (0, .foreign, .foreign), (1, .violation(.otherResponse), .tolerated(.responseIDChanged)),
            (nil, .tolerated(.responseIDChanged), .tolerated(.responseIDChanged)),
        ]
        for (index, noList, failure) in verdicts {
            let ends: [(ResponseOrder.End, ResponseOrder.Verdict)] = [
                (.complete(names: [0]), .tolerated(.responseIDChanged)), (.complete(names: []), noList),
                (.failure, failure),
            ]
            for (end, verdict) in ends {
                var ended = order
                #expect(ended.terminal(responseID: "b", end) == verdict)
                #expect(ended.endsUnderAnotherName == (verdict == .tolerated(.responseIDChanged)))
                #expect(!ended.hasSeen(.responseIDChanged))
            }
            if let index { #expect(order.itemDone(index) == .fine) }
        }
    }

    /// An end that contradicts the response contradicts it again.
    @Test func anEndWithAnotherIdentifierIsNoEvidenceForTheResponseThatIsFetchedAgain() {
        var order = Self.begun()
        #expect(order.itemDone(0) == .fine)
        #expect(order.terminal(responseID: "b") == .tolerated(.responseIDChanged))
        var again = order
        again.restarted()
        #expect(again.created(responseID: "a") == .fine)
        #expect(again.itemDone(0) == .tolerated(.itemNotAdded))
        #expect(again.terminal(responseID: "b") == .violation(.otherResponse))
        order.resumed()
        #expect(!order.endsUnderAnotherName)
        #expect(order.terminal(responseID: "a") == .fine)
    }

    @Test func outputOfADoneItemIsAViolationOnlyWhereItWasAnnounced() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0) == .fine)
        #expect(order.itemDone(0) == .fine)
        #expect(order.itemDone(1) == .tolerated(.itemNotAdded))
        #expect(order.delta(in: .text(1)) == .tolerated(.itemContinued))
        #expect(order.delta(in: .text(0)) == .violation(.itemContinued))
    }

    @Test func outputBeforeCreationBelongsToThePreviousResponse() {
        var order = ResponseOrder(previousResponseID: "z")
        #expect(order.delta(in: .text(0)) == .foreign)
        #expect(order.itemDone(0) == .foreign)
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0) == .fine)
        #expect(order.delta(in: .text(0)) == .fine)
    }

    @Test func endWithAnotherIdentifierAddsNoOutputWithoutChanges() {
        var order = Self.begun()
        #expect(order.itemDone(0) == .fine)
        var own = order
        #expect(own.terminal(responseID: "a") == .fine)
        #expect(!own.endsUnderAnotherName)
        #expect(order.terminal(responseID: "b") == .tolerated(.responseIDChanged))
        #expect(order.endsUnderAnotherName)
        var changing = Self.begun()
        #expect(changing.mentioned(responseID: "b") == .tolerated(.responseIDChanged))
        #expect(changing.itemDone(0) == .fine)
        #expect(changing.terminal(responseID: "c") == .fine)
        #expect(!changing.endsUnderAnotherName)
    }

    // MARK: Resumed responses

    @Test func theRestOfAResponseHasItsIdentity() {
        for (isEnd, identifier) in [(false, "b"), (true, "b"), (false, "a"), (true, nil)] {
            var order = Self.begun()
            #expect(order.delta(in: .text(0)) == .fine)
            order.resumed()
            #expect(order.itemDone(0) == .fine)
            let verdict = isEnd ? order.terminal(responseID: identifier) : order.mentioned(responseID: identifier)
            #expect(verdict == (identifier == "b" ? .violation(.otherResponse) : .fine))
        }
    }

    @Test func theRestOfAResponseIsNotCreatedAgain() {
        var order = Self.begun()
        #expect(order.delta(in: .text(0)) == .fine)
        order.resumed()
        var other = order
        #expect(other.created(responseID: "b") == .violation(.otherResponse))
        #expect(order.created(responseID: "a") == .violation(.responseRestarted))
    }

    @Test func aResponseIsNotCreatedAgainBehindAClosingText() {
        var order = Self.begun()
        #expect(order.closing(of: .text(0)) == .fine)
        #expect(order.created(responseID: "b") == .violation(.responseRestarted))
    }

    @Test func anOpenItemIsNotAnnouncedUnderAnotherNameBehindACut() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0, name: 7) == .fine)
        #expect(order.delta(in: .text(0), name: 7) == .fine)
        var unbroken = order
        #expect(unbroken.itemAdded(0, name: 9) == .tolerated(.itemAddedAgain))
        order.resumed()
        var other = order
        #expect(other.itemAdded(0, name: 7) == .tolerated(.itemAddedAgain))
        #expect(order.itemAdded(0, name: 9) == .violation(.otherResponse))
    }

    @Test func anItemKeepsItsNameBehindACut() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0, name: 7) == .fine)
        #expect(order.delta(in: .text(0), name: 7) == .fine)
        var unbroken = order
        #expect(unbroken.delta(in: .text(0), name: 9) == .fine)
        order.resumed()
        #expect(order.isOther(9, at: 0) == true)
        #expect(order.isOther(7, at: 0) == false)
        #expect(order.isOther(9, at: 1) == false)
        #expect(order.isOther(EventFingerprint.of(identifier: "a"), at: 0) == false)
        #expect(order.isOther(responseID: "b") == true)
        #expect(order.isOther(responseID: "a") == false)
        #expect(order.isOther(responseID: nil) == false)
        for name: UInt64 in [7, 9] {
            var delta = order
            #expect(delta.delta(in: .text(0), name: name) == (name == 7 ? .fine : .violation(.otherResponse)))
            var closing = order
            #expect(closing.closing(of: .text(0), name: name) == (name == 7 ? .fine : .violation(.otherResponse)))
            var done = order
            #expect(done.itemDone(0, name: name) == (name == 7 ? .fine : .violation(.otherResponse)))
        }
        // Its names have changed before.
        unbroken.resumed()
        #expect(unbroken.delta(in: .text(0), name: 11) == .fine)
        #expect(unbroken.isOther(11, at: 0) == false)
    }

    @Test func itemsDoneBeforeACutAreDoneAfterIt() {
        var order = Self.begun()
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(0) == .fine)
        order.resumed()
        #expect(order.delta(in: .text(0)) == .violation(.itemContinued))
    }

    @Test func aResponseThatIsFetchedFromItsBeginningHasItsIdentity() {
        var order = Self.begun()
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(0) == .fine)
        order.restarted()
        var other = order
        #expect(other.created(responseID: "b") == .violation(.otherResponse))
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0) == .fine)
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.finishedItemCount == 0)
        #expect(order.terminal(responseID: "b") == .violation(.otherResponse))
    }

    @Test func identifiersThatChangedBeforeACutMayChangeBehindIt() {
        for isRestarted in [true, false] {
            var order = Self.begun()
            #expect(order.mentioned(responseID: "b") == .tolerated(.responseIDChanged))
            if isRestarted { order.restarted() } else { order.resumed() }
            #expect(order.mentioned(responseID: "c") == .fine)
        }
    }

    @Test func anAttemptThatAnErrorEndedMayBeResumed() {
        var order = Self.begun()
        #expect(order.terminal(responseID: nil) == .fine)
        order.resumed()
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(0) == .fine)
        #expect(order.terminal(responseID: "a") == .fine)
    }

    // MARK: The previous response

    @Test func lateEndOfThePreviousResponseIsIgnored() {
        var order = ResponseOrder(previousResponseID: "z")
        #expect(order.terminal(responseID: "z") == .foreign)
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.terminal(responseID: "z") == .foreign)
        #expect(order.mentioned(responseID: "z") == .foreign)
        #expect(order.itemAdded(0) == .fine)
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.terminal(responseID: "z") == .foreign)
        #expect(order.terminal(responseID: "a") == .fine)
    }

    /// Returns the known facts of an unannounced response that has ended under a name.
    private static func earlier(endingAs id: String) -> EarlierResponses {
        var order = ResponseOrder()
        _ = order.itemAdded(0, name: 7)
        _ = order.delta(in: .text(0), name: 7)
        _ = order.terminal(responseID: id, .complete(names: [7]))
        return order.asEarlier(countsByOne: false)
    }

    @Test func lateEndOfAnUnannouncedResponseIsIgnored() {
        var order = ResponseOrder(earlier: Self.earlier(endingAs: "z"))
        #expect(order.terminal(responseID: "z", .complete(names: [0, 7])) == .foreign)
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.terminal(responseID: "z", .complete(names: [7])) == .foreign)
        #expect(order.itemAdded(0, name: 8) == .fine)
        #expect(order.delta(in: .text(0), name: 8) == .fine)
        #expect(order.terminal(responseID: "z", .complete(names: [7])) == .foreign)
        #expect(order.terminal(responseID: "a", .complete(names: [8])) == .fine)
    }

    @Test func unannouncedResponsesMayEndUnderTheSameName() {
        var order = ResponseOrder(earlier: Self.earlier(endingAs: "z"))
        #expect(order.itemAdded(0, name: 7) == .tolerated(.notCreated))
        #expect(order.delta(in: .text(0), name: 7) == .fine)
        #expect(order.terminal(responseID: "z", .complete(names: [7])) == .fine)
        for names in [[], [0], [8]] as [[UInt64]] {
            var other = ResponseOrder(earlier: Self.earlier(endingAs: "z"))
            #expect(other.terminal(responseID: "z", .complete(names: names)) == .fine)
        }
        var named = ResponseOrder(earlier: Self.earlier(endingAs: "z"))
        #expect(named.created(responseID: "z") == .fine)
        #expect(named.terminal(responseID: "z", .complete(names: [7])) == .fine)
    }

    @Test func aServerMayGiveEveryResponseTheSameIdentifier() {
        var order = ResponseOrder(previousResponseID: "z")
        #expect(order.terminal(responseID: "z") == .foreign)
        #expect(order.created(responseID: "z") == .fine)
        #expect(order.itemAdded(0) == .fine)
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.mentioned(responseID: "z") == .fine)
        #expect(order.terminal(responseID: "z") == .fine)
        #expect(order.terminal(responseID: "z") == .foreign)
    }

    @Test func theResponseBeforeMayBeginInTheMiddleWithoutHarm() {
        var order = Self.begun(after: "z")
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.created(responseID: "z") == .foreign)
        #expect(order.delta(in: .text(0)) == .fine)
    }

    /// Returns a connection that has carried a response with an item of this name, or of none.
    private static func earlier(_ name: UInt64 = 0, isCreated: Bool = true) -> EarlierResponses {
        var order = ResponseOrder()
        if isCreated { _ = order.created(responseID: name == 0 ? nil : "z") }
        _ = order.itemAdded(0, name: name)
        _ = order.delta(in: .text(0), name: name)
        _ = order.itemDone(0, name: name)
        _ = order.terminal(responseID: name == 0 ? nil : "z")
        return order.asEarlier(countsByOne: false)
    }

    @Test func unannouncedItemBelongsToAnEarlierResponse() {
        var order = ResponseOrder(previousResponseID: "z", earlier: Self.earlier(7))
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0, name: 9) == .fine)
        #expect(order.delta(in: .text(0), name: 9) == .fine)
        for name: UInt64 in [7, 11] {
            var late = order
            let slot = ReplaySlot(name == 7 ? .text : .toolCall, outputIndex: 2)
            #expect(late.delta(in: slot, name: name) == .foreign)
            #expect(late.itemDone(2, name: name, kind: name == 11 ? .call : .message) == .foreign)
            #expect(late.closing(of: slot, name: name) == .foreign)
            #expect(late.itemDone(0, name: 9) == .fine)
            var silent = late
            #expect(late.terminal(responseID: "a", .complete(names: [0])) == .fine)
            // It is unknown whether the item with the new name was this response's.
            let verdict = silent.terminal(responseID: "a", .complete(names: []))
            #expect(verdict == (name == 7 ? .fine : .violation(.itemUnknown)))
        }
    }

    /// The earlier response has one index for all its items, each announced under a name of its own.
    @Test func namesTellResponsesApartWhereIndicesAreShared() {
        var earlier = ResponseOrder()
        _ = earlier.created(responseID: "z")
        for name: UInt64 in [7, 8] {
            _ = earlier.itemAdded(0, name: name)
            _ = earlier.delta(in: .text(0), name: name)
            _ = earlier.itemDone(0, name: name)
        }
        _ = earlier.terminal(responseID: "z")
        var order = ResponseOrder(previousResponseID: "z", earlier: earlier.asEarlier(countsByOne: false))
        #expect(order.created(responseID: "a") == .fine)
        for name: UInt64 in [7, 8] {
            #expect(order.delta(in: .text(0), name: name) == .foreign)
            #expect(order.closing(of: .text(0), name: name) == .foreign)
        }
        // A server may give the items of all responses the same names.
        #expect(order.itemAdded(0, name: 7) == .fine)
        #expect(order.delta(in: .text(0), name: 7) == .fine)
    }

    /// A gateway does not announce the message behind what it announces (reported: BerriAI/litellm issue 41185).
    @Test func unannouncedTextWithANewNameIsThisResponses() {
        var order = ResponseOrder(previousResponseID: "z", earlier: Self.earlier(7))
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0, name: 9) == .fine)
        #expect(order.itemDone(0, name: 9) == .fine)
        // At an index of its own, and at that of the item that is done.
        for index in [2, 0] {
            var text = order
            #expect(text.delta(in: .text(index), name: 11) == .tolerated(.itemNotAdded))
            #expect(text.place(of: 11, at: index) == (index == 0 ? 1 : 2))
            #expect(text.closing(of: .text(index), name: 11) == .fine)
            #expect(text.itemDone(index, name: 11) == .fine)
            #expect(text.terminal(responseID: "a", .complete(names: [])) == .fine)
        }
    }

    @Test func unnamedUnannouncedItemBelongsToAnEarlierResponse() {
        var order = ResponseOrder(earlier: Self.earlier())
        #expect(order.created(responseID: nil) == .fine)
        #expect(order.itemAdded(0) == .fine)
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(5) == .foreign)
        #expect(order.delta(in: .text(2)) == .foreign)
        #expect(order.itemDone(0) == .fine)
        var silent = order
        #expect(silent.terminal(responseID: nil, .complete(names: [])) == .violation(.itemUnknown))
        #expect(order.terminal(responseID: nil, .complete(names: [0])) == .fine)
        // Where this response has announced none, or an earlier one has not announced one, the name is not decisive.
        var other = ResponseOrder(earlier: order.asEarlier(countsByOne: false))
        #expect(other.created(responseID: nil) == .fine)
        #expect(other.itemAdded(9, isAside: true) == .fine)
        #expect(other.itemDone(0) == .tolerated(.itemNotAdded))
        var unannounced = ResponseOrder()
        _ = unannounced.created(responseID: nil)
        _ = unannounced.itemDone(0)
        var third = ResponseOrder(earlier: unannounced.asEarlier(countsByOne: false))
        #expect(third.created(responseID: nil) == .fine)
        #expect(third.itemDone(0) == .tolerated(.itemNotAdded))
    }

    /// Not recorded of a server, but used by tests: items that are done without other events may all have one name.
    @Test func nameOfADoneItemDoesNotMoveANewItem() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemDone(0, name: 7) == .tolerated(.itemNotAdded))
        #expect(order.place(of: 7, at: 1) == 1)
        #expect(order.itemDone(1, name: 7) == .fine)
        #expect(order.finishedItemCount == 2)
    }

    /// The server announces nothing, or creates no response; the request has the outputs of the earlier one's calls.
    @Test(arguments: [("z", "z"), ("z", nil), (nil, "z"), (nil, nil)] as [(String?, String?)], [true, false])
    func itemsOfTheAnsweredResponseThatComeAgainAreForeign(identifiers: (String?, String?), isAdded: Bool) {
        let (created, end) = identifiers
        var first = ResponseOrder()
        if let created { _ = first.created(responseID: created) }
        _ = first.itemDone(0, name: 7, kind: .call)
        _ = first.terminal(responseID: "z", .complete(names: [7]))
        var earlier = first.asEarlier(countsByOne: false)
        earlier.areCallsAnswered = true
        var order = ResponseOrder(previousResponseID: created, earlier: earlier)
        if let created { #expect(order.created(responseID: created) == .fine) }
        if isAdded { #expect(order.itemAdded(0, name: 7, kind: .call) == .foreign) }
        #expect(order.delta(in: ReplaySlot(.toolCall, outputIndex: 0), name: 7) == .foreign)
        #expect(order.itemDone(0, name: 7, kind: .call) == .foreign)
        // Without the late end and without a list, what was dropped may have been this response's.
        var silent = order
        _ = silent.itemDone(1, name: 9)
        #expect(silent.terminal(responseID: nil, .complete(names: [])) == .violation(.itemUnknown))
        #expect(order.terminal(responseID: end, .complete(names: [7])) == .foreign)
        if created != nil { #expect(order.created(responseID: "a") == .fine) }
        #expect(order.delta(in: .text(0), name: 9) == .tolerated(.itemNotAdded))
        #expect(order.itemDone(0, name: 9) != .foreign)
        #expect(order.terminal(responseID: nil, .complete(names: [])) == .fine)
    }

    /// No item has a name.
    @Test func anEndWithTheIdentifierOfTheAnsweredResponseBehindOutputIsAViolation() {
        var first = ResponseOrder()
        _ = first.itemDone(0, kind: .call)
        _ = first.terminal(responseID: "z", .complete(names: [0]))
        var earlier = first.asEarlier(countsByOne: false)
        earlier.areCallsAnswered = true
        var order = ResponseOrder(earlier: earlier)
        _ = order.itemDone(0, kind: .call)
        var other = order
        #expect(order.terminal(responseID: "z", .complete(names: [0])) == .violation(.otherResponse))
        #expect(other.terminal(responseID: "y", .complete(names: [0])) == .fine)
    }

    @Test func eventsBeforeAnExpectedCreationAreIgnored() {
        var order = ResponseOrder(earlier: Self.earlier())
        var other = ResponseOrder(earlier: Self.earlier(isCreated: false))
        #expect(order.terminal(responseID: nil) == .foreign)
        #expect(order.delta(in: .text(0)) == .foreign)
        // A request may fail before a response is created.
        var failed = order
        #expect(failed.terminal(responseID: nil, .failure) == .fine)
        #expect(order.created(responseID: nil) == .fine)
        #expect(order.itemAdded(0) == .fine)
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(0) == .fine)
        #expect(order.terminal(responseID: nil) == .fine)
        #expect(other.terminal(responseID: nil) == .fine)
    }

    // MARK: Beginnings

    @Test(arguments: ["a", "b", nil])
    func aResponseMayBeCreatedAgainBeforeItHasItems(responseID: String?) {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.created(responseID: responseID) == .tolerated(.createdAgain))
        #expect(order.created(responseID: responseID) == .fine)
        #expect(order.terminal(responseID: responseID) == .fine)
    }

    @Test(arguments: ["a", "b", nil])
    func aResponseMayNotBeCreatedAgainAfterAnItemOrOutput(responseID: String?) {
        var order = Self.begun()
        var announced = order
        #expect(announced.created(responseID: responseID) == .violation(.responseRestarted))
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.created(responseID: responseID) == .violation(.responseRestarted))
        order = Self.begun()
        #expect(order.itemDone(0) == .fine)
        #expect(order.created(responseID: responseID) == .violation(.responseRestarted))
    }

    @Test func anOpenItemWithOutputThatIsAnnouncedAgainHasNoMoreDeltas() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0, name: 7) == .fine)
        // Without output, under another name, without a name, or when it is done, it may be another item.
        #expect(order.itemAdded(0, name: 7) == .tolerated(.itemAddedAgain))
        var closed = order
        #expect(closed.closing(of: .text(0), name: 7) == .fine)
        #expect(closed.itemAdded(0, name: 7) == .fine)
        #expect(closed.delta(in: .text(0), name: 7) == .violation(.responseRestarted))
        #expect(order.delta(in: .text(0), name: 7) == .fine)
        for name: UInt64 in [0, 9] {
            var other = order
            #expect(other.itemAdded(0, name: name) == .fine)
            #expect(other.delta(in: .text(0), name: name) == .fine)
        }
        var resumed = order
        resumed.resumed()
        #expect(resumed.itemAdded(0, name: 7) == .fine)
        #expect(resumed.delta(in: .text(0), name: 7) == .fine)
        var done = order
        #expect(done.itemDone(0, name: 7) == .fine)
        #expect(done.itemAdded(0, name: 7) == .fine)
        #expect(done.delta(in: .text(0), name: 7) == .tolerated(.itemContinued))
        // The text that closes it is compared with its text.
        #expect(order.itemAdded(0, name: 7) == .fine)
        #expect(order.closing(of: .text(0), name: 7) == .fine)
        #expect(order.delta(in: .text(0), name: 7) == .violation(.responseRestarted))
    }

    @Test func anotherResponseIsNotNamedForTheFirstTimeBehindOutput() {
        var order = Self.begun()
        var changing = order
        #expect(changing.mentioned(responseID: "b") == .tolerated(.responseIDChanged))
        #expect(changing.delta(in: .text(0)) == .fine)
        #expect(changing.mentioned(responseID: "c") == .fine)
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.mentioned(responseID: "a") == .fine)
        #expect(order.mentioned(responseID: nil) == .fine)
        #expect(order.mentioned(responseID: "b") == .violation(.responseRestarted))
    }

    /// A server that creates no response may still name one, in events that are neither output nor an end.
    @Test func anotherResponseThatIsNamedBehindOutputIsNoneOfTheSameAnswer() {
        for first in ["a", nil] {
            var order = ResponseOrder()
            #expect(order.mentioned(responseID: "late") == .fine)
            #expect(order.mentioned(responseID: first) == .fine)
            #expect(order.delta(in: .text(0), name: 7) == .tolerated(.itemNotAdded))
            let named = first ?? "late"
            #expect(order.mentioned(responseID: named) == .fine)
            #expect(order.mentioned(responseID: nil) == .fine)
            var created = order
            #expect(created.created(responseID: "b") == .violation(.responseRestarted))
            #expect(created.created(responseID: named) == .fine)
            #expect(order.mentioned(responseID: "b") == .violation(.responseRestarted))
        }
    }

    @Test func repeatedBeginningAfterOutputIsARestart() {
        var order = Self.begun()
        order.rewound()
        order.rewound(to: 0)
        #expect(!order.hasRestarted)
        #expect(order.delta(in: .text(0)) == .fine)
        order.rewound(to: 1)
        #expect(!order.hasRestarted)
        var item = order
        item.rewound(to: 0)
        #expect(item.hasRestarted)
        order.rewound()
        #expect(order.hasRestarted)
    }

    @Test func serverWithoutAnnouncementsIsTolerated() {
        var order = ResponseOrder()
        #expect(order.delta(in: .text(0)) == .tolerated(.itemNotAdded))
        #expect(order.delta(in: .text(0)) == .tolerated(.notCreated))
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(0) == .fine)
        #expect(order.finishedItemCount == 1)
        #expect(order.terminal(responseID: "a") == .fine)
    }

    @Test func aResponseMayBeCreatedLate() {
        var order = ResponseOrder()
        #expect(order.itemAdded(0) == .tolerated(.notCreated))
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.delta(in: .text(0)) == .fine)
    }

    // MARK: Items

    @Test func oneIndexForSeveralItemsIsTolerated() {
        var order = Self.begun()
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(0) == .fine)
        #expect(order.finishedItemCount == 1)
        #expect(order.itemAdded(0) == .tolerated(.itemAddedAgain))
        #expect(order.finishedItemCount == 0)
        #expect(order.delta(in: .text(0)) == .tolerated(.itemContinued))
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(0) == .tolerated(.itemDoneAgain))
        #expect(order.itemDone(0) == .fine)
        #expect(order.terminal(responseID: "a") == .fine)
    }

    @Test func outputOfAnItemThatIsDoneIsAViolationWhereIndicesTellItemsApart() {
        var order = Self.begun()
        #expect(order.delta(in: .text(0)) == .fine)
        #expect(order.itemDone(0) == .fine)
        #expect(order.itemAdded(1) == .fine)
        #expect(order.delta(in: .text(0)) == .violation(.itemContinued))
        #expect(order.delta(in: .text(1)) == .fine)
    }

    /// A gateway does not announce the second item (reported: BerriAI/litellm issue 41185), and gives both one index.
    @Test func deltaWithANewNameBehindADoneItemHasAPlaceOfItsOwn() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0, name: 7) == .fine)
        #expect(order.itemDone(0, name: 7) == .fine)
        for name: UInt64 in [0, 7] {
            var late = order
            #expect(late.delta(in: .text(0), name: name) == .violation(.itemContinued))
        }
        #expect(order.delta(in: .text(0), name: 9) == .tolerated(.itemNotAdded))
        #expect(order.delta(in: .text(0), name: 9) == .fine)
        #expect(order.place(of: 9, at: 0) == 1)
        #expect(order.itemDone(0, name: 9) == .fine)
        #expect(order.finishedItemCount == 2)
        #expect(order.terminal(responseID: "a") == .fine)
    }

    /// It may be late output of the item that is done.
    @Test func deltaWithANewNameBehindADoneItemIsAViolationWhereNamesChange() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0, name: 7) == .fine)
        #expect(order.delta(in: .text(0), name: 8) == .fine)
        #expect(order.hasSeen(.itemIDChanged))
        #expect(order.itemDone(0, name: 9) == .fine)
        #expect(order.delta(in: .text(0), name: 10) == .violation(.itemContinued))
    }

    /// Gateways give the deltas of all items one identifier or index (reported: databricks/unity-gateway issue 99).
    @Test(arguments: [0, 8] as [UInt64]) func outputUnderTheIndexOfAnotherKindOfItemIsThatOfTheOnlyOpenOneOfItsKind(
        name: UInt64
    ) {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.itemAdded(0, name: 6, kind: .reasoning) == .fine)
        #expect(order.itemDone(0, name: 6, kind: .reasoning) == .fine)
        var bare = order
        #expect(bare.delta(in: .text(0), name: name) == .tolerated(.itemNotAdded))
        #expect(bare.place(of: name, at: 0) == 1)
        #expect(order.itemAdded(1, name: 7, kind: .message) == .fine)
        var several = order
        #expect(several.itemAdded(2, name: 9, kind: .message) == .fine)
        #expect(several.closing(of: .text(0), name: name) == .fine)
        #expect(several.place(of: name, at: 0) == 0)
        for isDelta in [true, false] {
            var order = order
            #expect((isDelta ? order.delta(in: .text(0), name: name) : order.itemDone(0, name: name)) == .fine)
            #expect(order.place(of: name, at: 0) == 1)
            #expect(order.finishedItemCount == (isDelta ? 1 : 2))
        }
    }

    /// It may be a late event of the earlier response.
    @Test(arguments: [0, 8, 9] as [UInt64], [true, false])
    func outputUnderTheIndexOfAnotherKindOfItemIsNotReadOnAKeptConnection(name: UInt64, namesItems: Bool) {
        var first = ResponseOrder()
        _ = first.created(responseID: "z")
        _ = first.itemAdded(0, name: 8)
        _ = first.delta(in: .text(0), name: namesItems ? 8 : 5)
        _ = first.itemDone(0, name: 8)
        _ = first.terminal(responseID: "z", .complete(names: []))
        var order = ResponseOrder(previousResponseID: "z", earlier: first.asEarlier(countsByOne: false))
        _ = order.created(responseID: "a")
        _ = order.itemAdded(0, name: 6, kind: .reasoning)
        _ = order.itemDone(0, name: 6, kind: .reasoning)
        _ = order.itemAdded(1, name: 7)
        let verdict = order.delta(in: .text(0), name: name)
        let isNew = name == 9 && namesItems
        #expect(isNew ? verdict == .fine : [.foreign, .violation(.itemContinued)].contains(verdict))
        let responseName = EventFingerprint.of(identifier: "a")
        #expect(order.delta(in: .text(0), name: responseName) == .fine)
        #expect(order.place(of: responseName, at: 0) == 1)
    }

    /// The reasoning is not announced, and all deltas have one identifier and the index of their item.
    @Test func nameOfAllDeltasDoesNotKeepThemAtTheFirstPlace() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.delta(in: ReplaySlot(.reasoningSummary, outputIndex: 0), name: 9) == .tolerated(.itemNotAdded))
        #expect(order.itemDone(0, name: 5, kind: .reasoning) == .fine)
        for (place, name) in [(1, 6), (2, 7)] as [(Int, UInt64)] {
            #expect(order.itemAdded(place, name: name) == .fine)
            #expect(order.delta(in: .text(place), name: 9) == .fine)
            #expect(order.place(of: 9, at: place) == place)
            #expect(order.itemDone(place, name: name) == .fine)
        }
    }

    /// Two messages are open one after the other, and all deltas have one identifier and the index 0.
    @Test func outputUnderAForeignNameBehindADoneItemIsThatOfTheOnlyOpenOne() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        for (place, name) in [6, 7].enumerated() {
            #expect(order.itemAdded(place, name: UInt64(name)) == .fine)
            #expect(order.delta(in: .text(0), name: 9) == .fine)
            #expect(order.place(of: 9, at: 0) == place)
            #expect(order.itemDone(place, name: UInt64(name)) == .fine)
        }
        #expect(order.delta(in: .text(0), name: 9) == .violation(.itemContinued))
    }

    @Test func anItemThatIsDoneWithoutBeingAddedIsTolerated() {
        var order = Self.begun()
        #expect(order.itemDone(0) == .fine)
        #expect(order.itemDone(1) == .tolerated(.itemNotAdded))
        #expect(order.finishedItemCount == 2)
        #expect(order.hasSeen(.itemNotAdded))
        #expect(!order.hasSeen(.itemContinued))
    }

    @Test func itemIdentifierTakesPrecedenceOverItsIndex() {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.place(of: 7, at: 5) == 5)
        #expect(order.itemAdded(1, name: 7) == .fine)
        #expect(order.delta(in: .text(0), name: 7) == .fine)
        #expect(order.place(of: 7, at: 0) == 1)
        #expect(order.place(of: 0, at: 0) == 0)
        #expect(order.isKnown(7, at: 1))
        #expect(!order.isKnown(0, at: 0))
        #expect(order.isKnown(0, at: 1))
        #expect(order.closing(of: .text(3), name: 7) == .fine)
        #expect(order.itemDone(2, name: 7) == .fine)
        var again = order
        #expect(again.itemDone(1) == .tolerated(.itemDoneAgain))
        #expect(order.delta(in: .text(4), name: 7) == .violation(.itemContinued))
        for oddity in ResponseOrder.Oddity.allCases { #expect(!order.hasSeen(oddity)) }
        // Another index with the same name is another item from its announcement on.
        #expect(order.itemAdded(3, name: 7) == .fine)
        #expect(order.isRepeated(3))
        #expect(order.place(of: 7, at: 1) == 3)
        #expect(order.delta(in: .text(3), name: 7) == .fine)
    }

    @Test func asideIsIdentifiedByItsName() {
        var order = ResponseOrder()
        #expect(order.itemAdded(1, name: 7, isAside: true) == .tolerated(.notCreated))
        #expect(order.delta(in: .text(0), name: 7) == .fine)
        #expect(order.isAside(order.place(of: 7, at: 0)))
    }

    /// A replay may have another agent's item in another place, or not at all.
    @Test(arguments: [nil, 1, 3], [0, 21])
    func placesOfTheRootsItemsDependOnTheRootsItemsAlone(asideBefore position: Int?, asideIndex: Int) {
        var order = ResponseOrder()
        _ = order.created(responseID: "a")
        for item in 0..<4 {
            let name = UInt64(item + 1)
            if item == position { _ = order.itemAdded(asideIndex, name: 9, isAside: true) }
            _ = order.itemAdded(0, name: name)
            #expect(order.place(of: 0, at: 0) == item)
            _ = order.delta(in: .text(0), name: name)
            if item > 0 { _ = order.itemDone(0, name: name) }
        }
        for item in 0..<4 {
            #expect(order.place(of: UInt64(item + 1), at: 0) == item)
            #expect(!order.isAside(item))
        }
        #expect(position == nil || order.isAside(order.place(of: 9, at: asideIndex)))
    }

    @Test(arguments: [-1, Int.min, 65_536, Int.max])
    func invalidIndexIsAViolation(index: Int) {
        var order = ResponseOrder()
        #expect(order.created(responseID: "a") == .fine)
        #expect(order.delta(in: .text(index)) == .violation(.indexOutOfRange))
        #expect(order.delta(in: .text(0, part: index)) == .violation(.indexOutOfRange))
        #expect(order.itemAdded(index) == .violation(.indexOutOfRange))
        #expect(order.itemDone(index) == .violation(.indexOutOfRange))
        // It leaves no trace.
        #expect(order.created(responseID: "a") == .tolerated(.createdAgain))
    }

    @Test func largestIndexIsAccepted() {
        var order = Self.begun()
        let last = ResponseOrder.maximumIndex
        #expect(last == 65_535)
        #expect(order.itemAdded(last) == .fine)
        #expect(order.delta(in: .text(last, part: last)) == .fine)
        #expect(order.itemDone(last) == .fine)
        #expect(order.delta(in: .text(last)) == .violation(.itemContinued))
    }

    @Test func everyItemMayBeDone() {
        var order = ResponseOrder()
        _ = order.created(responseID: "a")
        for index in 0...ResponseOrder.maximumIndex {
            #expect(order.itemAdded(index) == .fine)
            #expect(order.itemDone(index) == .fine)
        }
        #expect(order.finishedItemCount == 65_536)
    }

    @Test(arguments: [0, 1, 63, 64, 65, 127, 128, 200])
    func finishedItemsAreCountedUpToTheFirstGap(count: Int) {
        var order = ResponseOrder()
        _ = order.created(responseID: "a")
        for index in 0..<300 { _ = order.itemAdded(index) }
        for index in (0..<300).reversed() where index != count { #expect(order.itemDone(index) == .fine) }
        #expect(order.finishedItemCount == count)
    }
}

extension ResponseOrder {
    /// The response is complete, with a list of items.
    fileprivate mutating func terminal(responseID: String?) -> Verdict {
        self.terminal(responseID: responseID, .complete(names: [0]))
    }
}
