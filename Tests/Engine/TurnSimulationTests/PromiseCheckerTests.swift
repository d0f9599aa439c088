// The checker itself: a history that keeps every promise, and one that breaks each of them.

import Testing

@testable import TurnSimulation

@Suite struct PromiseCheckerTests {
    private static let call = SimulatedCall(position: 1, name: "shell", arguments: "{}")
    private static let content = ResponseContent(text: "Hello, world", reasoning: "hm", calls: [Self.call])

    /// A WebSocket that has asked, and has been answered up to a place.
    private static func answered(
        _ content: ResponseContent = Self.content, upTo size: ContentSize, isComplete: Bool = false
    ) -> PromiseChecker {
        var checker = PromiseChecker()
        checker.began(PromiseChecker.Limits())
        checker.ask(on: 0, content, upTo: size, isComplete: isComplete)
        return checker
    }

    private func expect(_ promise: PromiseChecker.Promise?, _ checker: PromiseChecker) {
        #expect(checker.violation?.promise == promise, "\(String(describing: checker.violation))")
    }

    @Test func aTurnThatBreaksAndIsRepeatedKeepsThePromise() {
        var checker = Self.answered(upTo: ContentSize(text: 5, reasoning: 2))
        checker.received(.reasoning(Array("hm".utf8)))
        checker.received(.text(Array("Hello".utf8)))
        checker.asked(0)
        checker.closed(0)
        checker.ask(on: 1, Self.content, upTo: ContentSize(text: 3, reasoning: 2))
        checker.asked(1)
        checker.handed(on: 1, upTo: Self.content.size, isComplete: true)
        checker.received(.text(Array(", world".utf8)))
        checker.received(.call(Self.call))
        checker.received(.completed)
        checker.finished(.ended, now: .zero)
        checker.left()
        checker.closed(1)
        checker.released()
        #expect(checker.violation == nil)
    }

    // MARK: Output

    @Test func outputMissingInTheAnswerIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 3))
        checker.received(.text(Array("Hello".utf8)))
        self.expect(.prefix, checker)
    }

    @Test func outputThatIsRepeatedIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 12))
        checker.received(.text(Array("Hello".utf8)))
        checker.received(.text(Array("lo, w".utf8)))
        self.expect(.prefix, checker)
    }

    @Test func skippedOutputIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 12))
        checker.received(.text(Array("Hello".utf8)))
        checker.received(.text(Array(" world".utf8)))
        self.expect(.prefix, checker)
    }

    @Test func anEmptyDeltaIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 12))
        checker.received(.text([]))
        self.expect(.prefix, checker)
    }

    @Test func outputOfTwoAnswersIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 5))
        checker.received(.text(Array("Hello".utf8)))
        checker.closed(0)
        let other = ResponseContent(text: "Howdy, world")
        checker.ask(on: 1, other, upTo: ContentSize(text: 12))
        checker.received(.text(Array(", world".utf8)))
        self.expect(.prefix, checker)
    }

    @Test func newOutputBeforeTheReplayIsCompleteIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 5, reasoning: 2))
        checker.received(.reasoning(Array("hm".utf8)))
        checker.received(.text(Array("Hello".utf8)))
        checker.closed(0)
        checker.ask(on: 1, Self.content, upTo: ContentSize(text: 7))
        checker.received(.text(Array(", ".utf8)))
        self.expect(.prefix, checker)
    }

    @Test func outputThatIsKeptBackIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 12))
        checker.received(.text(Array("Hello".utf8)))
        checker.asked(0)
        self.expect(.noGap, checker)
    }

    @Test func aCallThatIsKeptBackIsFound() {
        var checker = Self.answered(upTo: ContentSize(calls: 1))
        checker.asked(0)
        self.expect(.noGap, checker)
    }

    @Test func aContradictionThatGoesUnnoticedIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 5))
        checker.received(.text(Array("Hello".utf8)))
        checker.closed(0)
        checker.ask(on: 1, ResponseContent(text: "Help!"), upTo: ContentSize(text: 4))
        checker.asked(1)
        self.expect(.noMixture, checker)
    }

    @Test func aToolThatRunsTwiceIsFound() {
        var checker = Self.answered(upTo: ContentSize(calls: 1))
        checker.received(.call(Self.call))
        checker.received(.call(Self.call))
        self.expect(.oneExecution, checker)
    }

    @Test func anotherToolAtTheSamePlaceIsFound() {
        var checker = Self.answered(upTo: ContentSize(calls: 1))
        checker.received(.call(SimulatedCall(position: 1, name: "shell", arguments: #"{"a":1}"#)))
        self.expect(.prefix, checker)
    }

    @Test func anOutputThatIsAskedForTwiceIsFound() {
        var checker = Self.answered(upTo: ContentSize(calls: 1))
        checker.received(.call(Self.call))
        checker.askedForOutput(ofCall: 0)
        #expect(checker.violation == nil)
        checker.askedForOutput(ofCall: 0)
        self.expect(.oneExecution, checker)
    }

    @Test func anOutputOfACallThatWasNotHandedOverIsFound() {
        var checker = Self.answered(upTo: ContentSize(calls: 1))
        checker.askedForOutput(ofCall: 0)
        self.expect(.oneExecution, checker)
    }

    @Test(arguments: [false, true])
    func aCircuitThatIsOpenWithoutReasonIsFound(isExpected: Bool) {
        var checker = PromiseChecker()
        checker.began(PromiseChecker.Limits())
        checker.refusedByCircuit(isExpected: isExpected)
        self.expect(isExpected ? nil : .documentedErrors, checker)
    }

    @Test func argumentsInAnotherOrderAreTheSameCall() {
        var call = SimulatedCall(position: 1, name: "shell", arguments: #"{"a":1,"b":2}"#)
        call.wireInput = #"{"b":2,"a":1}"#
        #expect(call.isSame(as: SimulatedCall(position: 1, name: "shell", arguments: #"{"a":1,"b":2}"#)))
    }

    // MARK: Untrue answers

    @Test(arguments: [Refutation.connection, .response])
    func turnThatGoesOnAfterAnUntrueAnswerIsFound(_ refutation: Refutation) {
        var checker = Self.answered(upTo: ContentSize())
        checker.handed(on: 0, upTo: ContentSize(), isComplete: false, refutation: refutation)
        checker.asked(0)
        self.expect(.noMixture, checker)
    }

    @Test(arguments: [Refutation.connection, .response])
    func aRequestBehindAResponseThatContradictsItselfIsFound(_ refutation: Refutation) {
        var checker = Self.answered(upTo: ContentSize())
        checker.handed(on: 0, upTo: ContentSize(), isComplete: false, refutation: refutation)
        checker.closed(0)
        checker.ask(on: 1, Self.content, upTo: ContentSize())
        self.expect(refutation == .response ? .noRequestAfterEnd : nil, checker)
    }

    @Test(arguments: [nil, Refutation.connection, .response])
    func contradictionThatNoEventHasIsFound(_ refutation: Refutation?) {
        var checker = Self.answered(upTo: ContentSize())
        checker.handed(on: 0, upTo: ContentSize(), isComplete: false, refutation: refutation)
        checker.calledContradictory()
        self.expect(refutation == nil ? .noFalseContradiction : nil, checker)
    }

    @Test func waitingLongerThanAllowedForProgressIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 5))
        checker.limits.progress = .seconds(10)
        checker.received(.text(Array("Hello".utf8)))
        checker.handed(on: 0, upTo: ContentSize(text: 5), isComplete: false, now: .seconds(1))
        checker.asked(0, now: .seconds(11))
        self.expect(nil, checker)
        checker.asked(0, now: .seconds(11) + .nanoseconds(1))
        self.expect(.ends, checker)
    }

    @Test func moreOutputThanAllowedIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 5))
        checker.limits.outputByteCount = 4
        checker.received(.text(Array("Hell".utf8)))
        self.expect(nil, checker)
        checker.received(.text(Array("o".utf8)))
        self.expect(.bounds, checker)
    }

    // MARK: Endings

    @Test func completedBeforeTheEndOfTheAnswerIsFound() {
        var checker = Self.answered(ResponseContent(text: "ab"), upTo: ContentSize(text: 2))
        checker.received(.text(Array("ab".utf8)))
        checker.received(.completed)
        self.expect(.completion, checker)
    }

    @Test func completionWithMissingOutputIsFound() {
        var checker = Self.answered(upTo: Self.content.size, isComplete: true)
        checker.received(.text(Array("Hello".utf8)))
        checker.received(.completed)
        self.expect(.completion, checker)
    }

    @Test func aTurnThatGoesOnAfterTheEndOfTheAnswerIsFound() {
        var checker = Self.answered(ResponseContent(), upTo: ContentSize(), isComplete: true)
        checker.asked(0)
        self.expect(.completion, checker)
    }

    @Test func anEndWithoutCompletedIsFound() {
        var checker = Self.answered(upTo: ContentSize())
        checker.finished(.ended, now: .zero)
        self.expect(.completion, checker)
    }

    @Test func outputAfterCompletedIsFound() {
        var checker = Self.answered(ResponseContent(), upTo: ContentSize(), isComplete: true)
        checker.received(.completed)
        checker.received(.completed)
        self.expect(.silenceAfterEnd, checker)
    }

    @Test func anErrorAfterCompletedIsFound() {
        var checker = Self.answered(ResponseContent(), upTo: ContentSize(), isComplete: true)
        checker.received(.completed)
        checker.finished(.failed, now: .zero)
        self.expect(.silenceAfterEnd, checker)
    }

    @Test func aDivergenceOfTheSameAnswersIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 5))
        checker.received(.text(Array("Hello".utf8)))
        checker.finished(.diverged("Hello"), now: .zero)
        self.expect(.divergence, checker)
    }

    @Test func aDivergenceThatCarriesAnotherTextIsFound() {
        var checker = Self.answered(upTo: ContentSize(text: 5))
        checker.received(.text(Array("Hello".utf8)))
        checker.varied()
        checker.finished(.diverged("Hell"), now: .zero)
        self.expect(.divergence, checker)
    }

    @Test func divergenceWithoutDeliveredOutputIsFound() {
        var checker = Self.answered(upTo: ContentSize())
        checker.varied()
        checker.finished(.diverged(""), now: .zero)
        self.expect(.divergence, checker)
    }

    @Test func unrequestedCancellationIsFound() {
        var checker = Self.answered(upTo: ContentSize())
        checker.finished(.cancelled, now: .zero)
        self.expect(.documentedErrors, checker)
    }

    @Test func anUndocumentedErrorIsFound() {
        var checker = Self.answered(upTo: ContentSize())
        checker.finished(.undocumented("an error"), now: .zero)
        self.expect(.documentedErrors, checker)
    }

    @Test(arguments: [PromiseChecker.Safety.notSent, .sentNoOutput])
    func anErrorThatDeniesTheOutputIsFound(_ safety: PromiseChecker.Safety) {
        var checker = Self.answered(upTo: ContentSize(text: 5))
        checker.received(.text(Array("Hello".utf8)))
        checker.finished(.transport(safety), now: .zero)
        self.expect(.replaySafety, checker)
    }

    @Test func anErrorThatDeniesTheRequestIsFound() {
        var checker = Self.answered(upTo: ContentSize())
        checker.finished(.transport(.notSent), now: .zero)
        self.expect(.replaySafety, checker)
    }

    @Test func anErrorThatInventsOutputIsFound() {
        var checker = Self.answered(upTo: ContentSize())
        checker.finished(.transport(.outputDelivered), now: .zero)
        self.expect(.replaySafety, checker)
    }

    @Test func anErrorThatForgetsAToolIsFound() {
        for (safety, isRight) in [(PromiseChecker.Safety.outputDelivered, true), (.sentNoOutput, false)] {
            var limits = PromiseChecker.Limits()
            limits.deliversCalls = false
            var checker = Self.answered(upTo: ContentSize(calls: 1))
            checker.limits = limits
            checker.askedForOutput(ofCall: 0)
            checker.finished(.transport(safety), now: .zero)
            if isRight { #expect(checker.violation == nil) } else { self.expect(.replaySafety, checker) }
        }
    }

    @Test func aTurnThatTakesTooLongIsFound() {
        var limits = PromiseChecker.Limits()
        limits.end = .seconds(5)
        var checker = PromiseChecker()
        checker.began(limits)
        checker.finished(.failed, now: .seconds(5) + .nanoseconds(1))
        self.expect(.ends, checker)
    }

    @Test func aTurnThatDoesNotEndIsFound() {
        var checker = Self.answered(upTo: ContentSize())
        checker.stuck("no end")
        self.expect(.ends, checker)
    }
}

extension PromiseChecker {
    /// Opens a WebSocket, sends a request, and is answered up to a place.
    mutating func ask(
        on connection: Int, _ content: ResponseContent, upTo size: ContentSize, isComplete: Bool = false
    ) {
        self.opened(connection, isWebSocket: true)
        self.established(connection)
        self.sent(on: connection, reachesServer: true)
        self.answerBegan(on: connection, content: content, from: ContentSize())
        self.handed(on: connection, upTo: size, isComplete: isComplete)
    }
}
