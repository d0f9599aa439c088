// The time for the answers of a slow server.
import PathDiagnosis
import Testing

@testable import ChappieDiagnosis

@Suite struct PatienceTests {
    private static let whole = ChappieDiagnosis.Extent.whole.pace
    private static let fast = ChappieDiagnosis.Extent.fast.pace

    @Test func firstAnswerGetsTheTimeLeftByTheNextTwoSteps() {
        #expect(Self.whole.patience(withLeft: .milliseconds(19_500)) == .seconds(11))
        #expect(Self.whole.patience(withLeft: .seconds(14)) == .milliseconds(5_900))
        #expect(Self.whole.patience(withLeft: .seconds(5)) == .seconds(4))
        #expect(Self.whole.patience(withLeft: .seconds(3)) == nil)
        #expect(Self.fast.patience(withLeft: .milliseconds(4_500)) == .milliseconds(1_500))
    }

    /// The name servers that do not answer, and the questions, cost five seconds each; the next step has its time.
    @Test func lookUpHasTimeForADeadNameServer() {
        #expect(Self.whole.lookUp(withLeft: .milliseconds(19_500)) == .milliseconds(15_400))
        #expect(Self.fast.lookUp(withLeft: .milliseconds(4_500)) == .milliseconds(2_900))
        #expect(Self.fast.lookUp(withLeft: .seconds(2)) == .milliseconds(1_500))
        #expect(Self.fast.lookUp(withLeft: .seconds(1)) == nil)
    }

    @Test func laterAnswersMayTakeTwiceTheTimeOfTheFirst() {
        #expect(Self.whole.budget(withLeft: .seconds(15), after: .zero) == .seconds(4))
        #expect(Self.whole.budget(withLeft: .seconds(15), after: .milliseconds(4_100)) == .milliseconds(8_200))
        #expect(Self.whole.budget(withLeft: .seconds(6), after: .milliseconds(4_100)) == .seconds(6))
        #expect(Self.whole.budget(withLeft: .seconds(3), after: .milliseconds(4_100)) == nil)
    }

    /// The whole of an examination of a server that is silent.
    ///
    /// The question for responses and the opening handshake come behind the first answer; where the path takes time and
    /// little is left, only the handshake does.
    @Test(
        arguments: [
            (.fast, .zero, 2), (.fast, .milliseconds(150), 1), (.whole, .zero, 2), (.whole, .seconds(5), 2),
        ] as [(ChappieDiagnosis.Extent, Duration, Int)])
    func examinationOfASilentServerStaysWithinItsTime(extent: ChappieDiagnosis.Extent, path: Duration, count: Int) {
        let pace = extent.pace
        var left = pace.total - path
        left -= pace.patience(withLeft: left) ?? .zero
        var stepCount = 0
        while let budget = pace.budget(withLeft: left, after: .zero) {
            left -= budget + .milliseconds(20)
            stepCount += 1
        }
        #expect(left >= .zero)
        #expect(stepCount == count)
    }
}
