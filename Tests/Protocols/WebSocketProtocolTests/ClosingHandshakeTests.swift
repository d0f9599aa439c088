// Tests of ClosingHandshake: every state against every input.

import Testing
import WebSocketProtocol

@Suite struct ClosingHandshakeTests {
    private enum State: CaseIterable {
        case open, closingSent, closeReceived, bothClosed, failed
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
        }
        return handshake
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
        case .closeReceived, .bothClosed, .failed: #expect(action == .ignore)
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
        case .closeReceived, .bothClosed, .failed: #expect(action == .ignore)
        }
        #expect(!handshake.allowsSending)
    }

    @Test func anEmptyCloseFrameIsAnsweredWithOne() {
        var handshake = ClosingHandshake()
        #expect(handshake.closeReceived(CloseFrame(code: nil)) == .sendClose(CloseFrame(code: nil)))
    }

    @Test func aNewConnectionAllowsSending() {
        #expect(ClosingHandshake().allowsSending)
    }
}
