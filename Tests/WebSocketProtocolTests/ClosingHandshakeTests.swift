// Tests of ClosingHandshake: every state against every input.

import Testing
import WebSocketProtocol

@Suite struct ClosingHandshakeTests {
    private enum State: CaseIterable {
        case open, closingSent, closeReceived, bothClosed, failed, closed
    }

    private static let ours = CloseFrame(code: .normalClosure, reason: "done")
    private static let theirs = CloseFrame(code: .goingAway, reason: "bye")

    private static func handshake(in state: State) -> ClosingHandshake {
        var handshake = ClosingHandshake()
        switch state {
        case .open: break
        case .closingSent: _ = handshake.closeRequested(Self.ours)
        case .closeReceived: _ = handshake.closeReceived(Self.theirs)
        case .bothClosed:
            _ = handshake.closeRequested(Self.ours)
            _ = handshake.closeReceived(Self.theirs)
        case .failed: _ = handshake.connectionFailed(.protocolError)
        case .closed: _ = handshake.connectionEnded()
        }
        return handshake
    }

    private static func outcome(
        _ initiator: ClosingHandshake.Initiator, _ code: CloseCode, reason: String = "", sent: CloseCode? = nil,
        isClean: Bool = false
    ) -> ClosingHandshake.Action {
        .finish(.init(initiator: initiator, code: code, reason: reason, sentCode: sent, isClean: isClean))
    }

    @Test(arguments: State.allCases)
    private func aRequestToCloseSendsOneFrame(state: State) {
        var handshake = Self.handshake(in: state)
        let action = handshake.closeRequested(Self.ours)
        #expect(action == (state == .open ? .sendClose(Self.ours) : .ignore))
        #expect(!handshake.allowsSending)
    }

    @Test(arguments: State.allCases)
    private func aCloseFrameIsAnsweredOnce(state: State) {
        var handshake = Self.handshake(in: state)
        let action = handshake.closeReceived(Self.theirs)
        switch state {
        case .open: #expect(action == .sendClose(CloseFrame(code: .goingAway)))
        case .closingSent: #expect(action == .awaitDisconnect)
        case .closeReceived, .bothClosed, .failed, .closed: #expect(action == .ignore)
        }
        #expect(!handshake.allowsSending)
    }

    @Test(arguments: State.allCases)
    private func aFailureSendsItsCodeUnlessACloseFrameWasSent(state: State) {
        var handshake = Self.handshake(in: state)
        let action = handshake.connectionFailed(.invalidFramePayloadData)
        switch state {
        case .open: #expect(action == .sendCloseAndDisconnect(CloseFrame(code: .invalidFramePayloadData)))
        case .closingSent: #expect(action == .disconnect)
        case .closeReceived, .bothClosed, .failed, .closed: #expect(action == .ignore)
        }
        #expect(!handshake.allowsSending)
    }

    @Test(arguments: State.allCases)
    private func theTimerEndsAHandshakeThatIsUnderWay(state: State) {
        var handshake = Self.handshake(in: state)
        let action = handshake.timedOut()
        switch state {
        case .closingSent, .closeReceived, .bothClosed: #expect(action == .disconnect)
        case .open, .failed, .closed: #expect(action == .ignore)
        }
        #expect(handshake.allowsSending == (state == .open))
    }

    @Test(arguments: State.allCases)
    private func theEndOfTheConnectionIsReportedOnce(state: State) {
        var handshake = Self.handshake(in: state)
        let action = handshake.connectionEnded()
        switch state {
        case .open:
            #expect(action == Self.outcome(.network, .abnormalClosure))
        case .closingSent:
            #expect(action == Self.outcome(.client, .abnormalClosure, sent: .normalClosure))
        case .closeReceived:
            #expect(action == Self.outcome(.server, .goingAway, reason: "bye", sent: .goingAway, isClean: true))
        case .bothClosed:
            #expect(action == Self.outcome(.client, .goingAway, reason: "bye", sent: .normalClosure, isClean: true))
        case .failed:
            #expect(action == Self.outcome(.client, .abnormalClosure, sent: .protocolError))
        case .closed:
            #expect(action == .ignore)
        }
        #expect(handshake.connectionEnded() == .ignore)
        #expect(!handshake.allowsSending)
    }

    @Test func anEmptyCloseFrameIsAnsweredWithOneAndReportedAs1005() {
        var handshake = ClosingHandshake()
        #expect(handshake.closeReceived(CloseFrame(code: nil)) == .sendClose(CloseFrame(code: nil)))
        #expect(handshake.connectionEnded() == Self.outcome(.server, .noStatusReceived, isClean: true))
    }

    @Test func aNewConnectionAllowsSending() {
        #expect(ClosingHandshake().allowsSending)
    }
}
