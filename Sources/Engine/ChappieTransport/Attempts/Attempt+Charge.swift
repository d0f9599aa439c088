import StreamSession
import StreamTransport
import TransportSurface

// The guess whether a server charges an attempt, for the report.

extension Attempt {
    /// The chance that the server has begun to make a response for an attempt without content.
    enum Charge {
        /// It has if the request was written.
        case byRequest
        case likely
        case unlikely
    }

    /// Records what the failure that ends the attempt says about its charge.
    mutating func noteCharge(of failure: AttemptFailure) {
        if case .timeout = failure { return }
        let isLikely =
            failure == .unexpectedContentType
            ? !self.isPage && !WebPage.isContentType(self.head?.mediaType)
            : failure.mayLeaveCharge && (self.transport == .webSocket || failure.mayFollowPOST)
        self.charge = isLikely ? .likely : .unlikely
    }

    /// Returns whether the server has probably begun to make a response for the attempt.
    func isProbablyCharged(_ statistics: TransportStatistics) -> Bool {
        // A resumption asks for the events of a response that was requested before.
        guard self.isRequestSent, !self.isResumed else { return false }
        if self.hasContent { return true }
        switch self.charge {
        case .likely: return true
        case .unlikely: return false
        // Over HTTP the request may not have been written yet.
        case .byRequest: return self.transport == .webSocket || self.head != nil || statistics.requestSent
        }
    }
}

extension AttemptFailure {
    /// Indicates whether the server may have begun to make a response, without output, before the attempt ended so.
    fileprivate var mayLeaveCharge: Bool {
        switch self {
        case .httpStatus(let facts):
            // A success without a stream, and the answers of gateways whose server did not answer in time or at all.
            facts.statusCode.map { (200..<300).contains($0) || [502, 504].contains($0) || (520..<528).contains($0) }
                ?? false
        // The server reports an error before any output, or refuses the message.
        case .upgradeStatus, .errorEvent, .responseFailed, .requestTooLarge: false
        case .closed(let code, let beforeFirstEvent): !(beforeFirstEvent && [1008, 1009].contains(code))
        case .transport(let failure): failure.cause != .notHTTP && failure.cause != .protocolSwitched
        case .endedEarly, .endedWithoutEvent, .responseIncomplete, .unexpectedContentType, .binaryMessage,
            .undecodableEvent, .contradictoryEvents, .sequenceGap, .otherAPI, .eventTooLarge, .outputTooLarge,
            .tooManyItems, .toolOutputAwaited, .timeout:
            true
        }
    }
}
