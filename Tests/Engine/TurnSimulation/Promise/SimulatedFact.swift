// The facts that can occur in a simulation, to be counted.

/// One thing that a simulated turn can meet: a fault, an answer, a doing of the consumer, an ending.
///
/// A simulation of many turns that has not met one of them is defective, unless the engine never asks for what it is
/// about (`condition`).
enum SimulatedFact: Int, CaseIterable, Sendable {
    // How a connection begins.
    case unresolvable, nameServiceAway, unreachable, networkAway, connectTimeOut, connectHangs, proxyRefuses
    case connectionLostInTLS, tlsFails, certificateRejected, resetInUpgrade, wrongAccept, wrongUpgradeField
    case wrongExtensions, interimResponse, notHTTP, headerSectionTooLarge, serviceUnavailable
    case lostWhileSending, unsupportedTransferCoding, unsupportedContentCoding
    // Refusals, over either transport.
    case upgrade200, upgrade400, upgrade401, upgrade403, upgrade404, upgrade405, upgrade408, upgrade426, upgrade429
    case upgrade500, upgrade501, upgrade503
    case post400, post401, post403, post404, post408, post409, post429, post500, post502, post503, post529
    case refusalBodyHTML, refusalBodyEmpty, refusalBodyUsageLimit, refusalBodyLong, refusalBodyHangs
    case refusalBodyCut, retryAfter, wrongContentType, noAnswer
    // How an answer ends early.
    case endsCleanly, connectionReset, closed1000, closed1001, closed1002, closed1003, closed1005, closed1006
    case closed1007, closed1008, closed1009, closed1010, closed1011, closed1012, closed1013, closed4000
    case stallWithPongs, stallOfDeadPeer, longPause, protocolViolation, corruptContentCoding
    case errorEvent, errorEventWithStatus, errorEvent401, errorEvent429, errorEventUsageLimit
    case errorEventConnectionLimit
    case responseFailed, responseFailedFatally, responseFailedThrottled, responseIncomplete
    case garbageJSON, eventsAfterFault, invalidUTF8, binaryMessage, oversizeEvent
    // The API that the server speaks.
    case responsesAPI, chatCompletions, messages
    // What stands between the events.
    case keepalive, rateLimitEvent, unknownEvent, eventWithoutType, doneSentinel, emptyDelta, repeatedItemDone,
        otherLane
    case plainReasoning
    case numbersMissing, numbersRepeated, numbersOdd, changingItemIDs, itemsNotAnnounced
    case comments, carriageReturns, lineFeeds, byteOrderMark, byteByByte, escapedText, eventAfterTerminal
    // The next answer.
    case sameAnswer, respelledArguments, commonBeginning, shorterAnswer, insertedItem, otherTool, otherArguments
    case otherText, otherOrder, otherResponse
    // Resumed responses.
    case resumed, resumedWithRepeats, resumedWithGap, resumedWithContradiction, resumeExpired400, resumeExpired404
    case resumedToEnd
    // The behaviour of few servers, or of none that is sound.
    case textOnlyInClosing, callOnlyInCompleted, contradictingClosing, otherAgent, sharedIndices, repeatedEvents
    case lateEventsInside, gapBesideUnnumbered, otherIdentity, renumbered, chatter, errorWithoutType
    case endlessComments
    case restartedResponse, continuedItem, continuedReasoning, continuedToEnd
    // A request that is held.
    case held, heldBecameReady, heldFailed, heldReleased, heldDropped
    // Connections that are kept.
    case keptConnection, keptConnectionUsed, keptDied, keptClosedCleanly, keptWentSilent, keptSaidSomething
    case keptReachedLimit, keptClosedByRequest, keptSaidLateEvents, pinged, pongLost
    case livenessCheckPassed, livenessCheckFailed, rotated, keptConnectionReplaced
    // Races, and what goes on in background.
    case hedgeOpened, hedgeLost, hedgeWon, hedgeFailed, bothOfRaceFailed, upgradeKept, upgradeParked
    case parkedUpgradeKept, parkedUpgradeFailed, probe, probeSucceeded, probeFailed
    // Recovery steps.
    case recoverySentAgain, recoveryResumed, recoveryVerified, resumeExpired, sequenceGap, stalled
    case policyVerify, policyResumeOnly, policyNever
    // The caller.
    case credentialChanged, credentialReplaced, credentialSame, credentialThrows, backgroundRequest, invalidRequest
    case cancelledByHandle, cancelledByTask, cancelledInWait, cancelledBetweenEvents, cancelledBeforeReading
    case toolOutputGiven, toolOutputThrows, circuitOpened
    case dropped, carriedItems, allRawEvents, noRawEvents, unsurfacedRawEvents
    // Endings.
    case completed, completedAfterFailure, completedAfterReplay, completedOverHTTP, completedOverWebSocket
    case diverged, restarted, failedBelowHTTP, httpError, usageLimitReached, reauthenticationRequired
    case responseTerminalFailure
    case invalidResponse, cancelled, endedWhileCancelled, abandoned, credentialErrorPassedOn
    case fellBack, beganOnHTTP, endedInTotalBudget, outputTooLarge, contradictoryEvents

    /// The fact that must have occurred before this one can.
    var condition: SimulatedFact? {
        switch self {
        case .resumedWithRepeats, .resumedWithGap, .resumedWithContradiction, .resumeExpired400, .resumeExpired404,
            .resumedToEnd, .otherIdentity, .renumbered:
            .resumed
        case .heldBecameReady, .heldFailed, .heldReleased, .heldDropped: .held
        case .pongLost: .pinged
        case .continuedToEnd: .continuedReasoning
        case .invalidResponse: self
        default: nil
        }
    }
}

/// The number of occurrences of each fact, and the amount of work.
///
/// A value; each worker has its own.
package struct Coverage: Sendable {
    private var counts = [Int](repeating: 0, count: SimulatedFact.allCases.count)
    /// Turns that were run.
    package var turnCount = 0
    /// The number of inputs, actions and outputs of the engine.
    package var stepCount = 0

    /// Creates empty coverage.
    package init() {}

    mutating func note(_ fact: SimulatedFact) { self.counts[fact.rawValue] += 1 }

    func count(of fact: SimulatedFact) -> Int { self.counts[fact.rawValue] }

    /// Adds what another worker has met.
    package mutating func add(_ other: Self) {
        for index in self.counts.indices { self.counts[index] += other.counts[index] }
        self.turnCount += other.turnCount
        self.stepCount += other.stepCount
    }

    /// Returns the facts that did not occur, although they could have.
    package func missing(_ options: SimulationOptions) -> [String] {
        SimulatedFact.allCases.filter { fact in
            self.count(of: fact) == 0 && options.allows(fact) && fact.condition.map { self.count(of: $0) > 0 } ?? true
        }.map { "\($0)" }
    }

    /// Every fact and its count, one in a line.
    package var table: String {
        SimulatedFact.allCases.map { fact in
            let name = "\(fact)"
            return "  \(name)\(String(repeating: " ", count: max(1, 30 - name.count)))\(self.count(of: fact))"
        }.joined(separator: "\n")
    }
}
