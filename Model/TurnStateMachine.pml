// The state machine: `TurnStateMachine` and its `ReplayLedger`, `RetryPolicy`, `HedgeRace`, `Recovery` and `Delivery`.
// One input gives one action. What follows an attempt's failure is decided in one place at the end of `step`.

// MARK: Policy

mtype recovery
bit prefersHTTP
bit fallsBack
bit isResumable

// MARK: State

mtype state = idle
// The attempt of the state; of a race the upgrade's, of a wait the next one's.
byte attempt
byte transport
// Of a race.
byte hedge
byte holder
bit upgradeIsOver
// Of an exchange.
bit lentExchange
bit eventsInExchange
// Of a wait.
mtype recoveryStep

byte attemptCount
byte usedRetries[2]
bit usedProbable[2]
byte usedThrottle
bit refusedCredential
bit failedHedge
bit isProven[2]
mtype verdict = open_
bit mayHaveSent

// The ledger: what was delivered in each of two channels, and how much of it has come again.
byte text[TEXT_LENGTH]
byte textCount
byte textCame
byte tool
bit toolCame
bit isVerifying

// How often another answer has replaced the delivered one; and whether one does in this step, with this text of its own
// that was compared before it differed.
byte restartCount
bit isRestart
byte firstAgain
byte secondAgain

// Where the response can be taken up again.
bit isResumption
bit isNamed
byte nextNumber
byte trackedResponse

// What `step` hands to `perform`; always reset behind it.
mtype action
mtype endKind
byte deliveredFirst
byte deliveredSecond
bit isBroken
byte brokenTransport
mtype failureClass
mtype verdictOfOutput
byte symbol

#ifdef MUTATE_NO_STALE_CHECK
#define IS_ABOUT(number) true
#else
#define IS_ABOUT(number) (number == attempt)
#endif

#define HAS_DELIVERED (textCount > 0 || tool != 0)

// MARK: Ends

inline endWithFailure(kindOfEnd) {
    state = finishedFailed;
    action = fail;
    endKind = kindOfEnd
}

// MARK: Ledger

inline beginReplay() {
    textCame = 0;
    toolCame = 0;
    isVerifying = HAS_DELIVERED
}

inline noteCaughtUp() {
    if
    :: textCame == textCount && (tool == 0 || toolCame) -> isVerifying = 0
    :: else
    fi
}

#ifdef MUTATE_NO_COMPARISON
#define DIFFERS(one, other) false
#else
#define DIFFERS(one, other) ((one) != (other))
#endif

#ifdef MUTATE_DELIVER_WHILE_VERIFYING
#define MAY_GO_ON true
#else
#define MAY_GO_ON (!isVerifying)
#endif

// `ReplayLedger.admit` and `admitToolCall` for one symbol: deliver, ignore or diverged.
inline admit() {
    verdictOfOutput = ignore;
    if
    :: !IS_TOOL(symbol) && isVerifying && textCame < textCount ->
        if
        :: DIFFERS(symbol, text[textCame]) -> verdictOfOutput = diverged
        :: else ->
            textCame++;
            noteCaughtUp()
        fi
    :: !IS_TOOL(symbol) && !(isVerifying && textCame < textCount) ->
        if
        :: MAY_GO_ON && textCount < TEXT_LENGTH ->
            text[textCount] = symbol;
            textCount++;
            textCame++;
            verdictOfOutput = deliver
        :: else -> verdictOfOutput = diverged
        fi
    :: IS_TOOL(symbol) && tool == 0 ->
        if
        :: MAY_GO_ON ->
            tool = symbol;
            toolCame = 1;
            verdictOfOutput = deliver
        :: else -> verdictOfOutput = diverged
        fi
    :: IS_TOOL(symbol) && tool != 0 ->
        if
        :: DIFFERS(symbol, tool) -> verdictOfOutput = diverged
#ifdef MUTATE_NO_REPEATED_CALL_CHECK
        :: !DIFFERS(symbol, tool) && !isVerifying -> verdictOfOutput = deliver
        :: !DIFFERS(symbol, tool) && isVerifying ->
#else
        :: else ->
#endif
            toolCame = 1;
            noteCaughtUp()
        fi
    fi
}

// Handles an answer that is not the delivered one: it replaces that one, or ends the turn. A program may have acted on a
// delivered call, and a resumed response is the delivered one.
inline diverge() {
    if
#ifdef MUTATE_RESTARTS_WITHOUT_END
    :: tool == 0 && !isResumption && RESTARTS > 0 ->
#elif defined(MUTATE_RESTARTS_BEHIND_A_CALL)
    :: restartCount < RESTARTS && !isResumption ->
#else
    :: restartCount < RESTARTS && tool == 0 && !isResumption ->
#endif
        restartCount++;
        isRestart = 1;
        isVerifying = 0;
        firstAgain = (textCame > 0 -> text[0] : 0);
        secondAgain = (textCame > 1 -> text[1] : 0);
#ifndef MUTATE_RESTART_KEEPS_TEXT
        textCount = textCame;
        text[2] = 0;
        if
        :: textCame < 2 -> text[1] = 0
        :: else
        fi;
        if
        :: textCame < 1 -> text[0] = 0
        :: else
        fi
#endif
    :: else -> endWithFailure(diverged)
    fi
}

// One symbol, which another answer may have in place of a delivered one.
inline admitOrRestart() {
    admit();
    if
    :: verdictOfOutput == diverged ->
        diverge();
        if
        :: isRestart -> admit()
        :: else
        fi
    :: else
    fi
}

// A delta of one or two symbols: what has come before is withheld, the rest is delivered.
inline admitOutput(one, two) {
    symbol = one;
    admitOrRestart();
    if
    :: verdictOfOutput == deliver -> deliveredFirst = symbol
    :: else
    fi;
    if
    :: verdictOfOutput != diverged && two != 0 ->
        symbol = two;
        admitOrRestart();
        if
        :: verdictOfOutput == deliver && deliveredFirst != 0 -> deliveredSecond = symbol
        :: verdictOfOutput == deliver && deliveredFirst == 0 -> deliveredFirst = symbol
        :: else
        fi
    :: else
    fi;
    if
    :: verdictOfOutput == diverged ->
        deliveredFirst = 0;
        deliveredSecond = 0
    :: verdictOfOutput != diverged && deliveredFirst != 0 -> action = deliver
    :: else
    fi
}

// MARK: Resumption

// `numbered`: sets the action to `receive` when the event counts. An event that is seen as 0 is the completion.
inline checkNumber(number, seen) {
    action = receive;
    if
    :: isResumable ->
        if
        :: number == nextNumber ->
            nextNumber++;
            trackedResponse = connection[transport].response
        :: number < nextNumber ->
            action = ignore;
            if
            :: seen != SYMBOL(trackedResponse, number) -> endWithFailure(diverged)
            :: else
            fi
        :: number > nextNumber ->
#ifdef MUTATE_NO_GAP_CHECK
            nextNumber = number + 1
#else
            action = ignore;
            attemptBroke(transport, transient)
#endif
        fi
    :: else
    fi
}

// MARK: Attempts

inline attemptBroke(kind, classOf) {
    isBroken = 1;
    brokenTransport = kind;
    failureClass = classOf
}

// A turn never comes back to the WebSocket, so what was counted about it is read no more.
inline leaveWebSocketBehind() {
    usedRetries[WEBSOCKET] = 0;
    usedProbable[WEBSOCKET] = 0;
    isProven[WEBSOCKET] = 0;
    failedHedge = 0;
    isKept = 0;
    if
    :: verdict == open_ ->
        sawDefinite = 0;
        webSocketFailures = 0
    :: else
    fi
}

inline noteHTTPAnswer() {
    if
    :: verdict == condemnedIfHTTPAnswers -> verdict = condemned
    :: else
    fi
}

inline openAttempt(number, kind, asked) {
    state = connecting;
    attempt = number;
    transport = kind;
    action = open;
    if
    :: number > attemptCount -> attemptCount = number
    :: else
    fi;
    assert(attemptCount <= MOST_ATTEMPTS);
    hedge = 0;
    holder = 0;
    upgradeIsOver = 0;
    lentExchange = 0;
    eventsInExchange = 0;
    isResumption = (asked == resume);
    recoveryStep = asked;
    if
    :: asked == again || asked == verifyAgain ->
        beginReplay();
        isNamed = 0;
        nextNumber = 0;
        trackedResponse = 0
#ifdef MUTATE_RESUME_REWINDS
    :: asked == resume -> beginReplay()
#endif
    :: else
    fi;
    if
    :: kind == HTTP -> leaveWebSocketBehind()
    :: else
    fi
}

inline begin(number, kind, isLentNow) {
    state = exchanging;
    attempt = number;
    transport = kind;
    hedge = 0;
    holder = 0;
    upgradeIsOver = 0;
    lentExchange = isLentNow;
    eventsInExchange = 0;
    mayHaveSent = 1;
    if
    :: kind == WEBSOCKET -> action = send
    :: else ->
        noteHTTPAnswer();
        leaveWebSocketBehind();
        action = receive
    fi
}

// The cheapest recovery step that is sound.
inline chooseStep(isRefusal) {
    if
    :: isResumable && isNamed -> recoveryStep = resume
    :: !(isResumable && isNamed) && !HAS_DELIVERED ->
        if
#ifndef MUTATE_POLICY_IGNORED
        :: recovery == neverAgain && mayHaveSent && !isRefusal -> recoveryStep = none
#endif
        :: else -> recoveryStep = (mayHaveSent -> again : first)
        fi
    :: !(isResumable && isNamed) && HAS_DELIVERED ->
#ifdef MUTATE_POLICY_IGNORED
        recoveryStep = verifyAgain
#else
        recoveryStep = (recovery == verify -> verifyAgain : none)
#endif
    fi
}

inline waitForNext(kindOfState, kindOfAction) {
    state = kindOfState;
    action = kindOfAction;
    attempt = attemptCount + 1;
    transport = brokenTransport
}

// MARK: Failures

inline retryOrLeave(isRefusal) {
    if
#ifdef MUTATE_NO_BUDGET
    :: true ->
#else
    :: usedRetries[brokenTransport] < RETRIES &&
        !((failureClass == probable || failureClass == offline) && usedProbable[brokenTransport] >= PROBABLE_RETRIES) ->
#endif
        chooseStep(isRefusal);
        if
        :: recoveryStep == none -> endWithFailure(notRecovered)
        :: else ->
#ifndef MUTATE_NO_BUDGET
            usedRetries[brokenTransport]++;
            usedProbable[brokenTransport] =
                usedProbable[brokenTransport] || failureClass == probable || failureClass == offline;
#endif
            waitForNext(backingOff, wait)
        fi
#ifndef MUTATE_NO_BUDGET
    :: else -> leaveTransport(isRefusal)
#endif
    fi
}

inline leaveTransport(isRefusal) {
    if
    :: brokenTransport == HTTP || !fallsBack || failureClass == server -> endWithFailure(exhausted)
    :: else ->
        if
        :: failureClass == definite -> verdict = condemned
        :: failureClass == probable || failureClass == transient ->
#ifdef MUTATE_CONDEMNS_TOO_SOON
            verdict = condemned
#else
            verdict = condemnedIfHTTPAnswers
#endif
        :: else
        fi;
        chooseStep(isRefusal);
        if
        :: recoveryStep == none -> endWithFailure(notRecovered)
        :: else -> openAttempt(attemptCount + 1, HTTP, recoveryStep)
        fi
    fi
}

inline decide(isRefusal) {
    // A transport that has carried content is not doubted because it cannot be reached.
    if
    :: failureClass == probable && isProven[brokenTransport] && state != exchanging -> failureClass = transient
    :: else
    fi;
    if
    :: failureClass == definite || failureClass == size -> leaveTransport(isRefusal)
    :: failureClass == probable || failureClass == offline || failureClass == transient || failureClass == server ->
        retryOrLeave(isRefusal)
    :: failureClass == credential ->
        chooseStep(isRefusal);
        if
        :: refusedCredential || recoveryStep == none -> endWithFailure(credential)
        :: else ->
            refusedCredential = 1;
            waitForNext(refreshing, refreshCredential)
        fi
    :: failureClass == throttle ->
        chooseStep(isRefusal);
        if
        :: usedThrottle >= THROTTLE_RETRIES || recoveryStep == none -> endWithFailure(throttle)
        :: else ->
            usedThrottle++;
            waitForNext(backingOff, wait)
        fi
    :: failureClass == incomplete && isVerifying -> endWithFailure(diverged)
    :: (failureClass == incomplete && !isVerifying) || failureClass == usageLimit || failureClass == fatal ||
        failureClass == total -> endWithFailure(failureClass)
    fi
}

inline noteEvidence(evidence) {
    if
    :: evidence != NOT_SENT -> mayHaveSent = 1
    :: else
    fi;
    if
    :: evidence == ANSWERED -> noteHTTPAnswer()
    :: else
    fi
}

inline upgradeFailed(number, classOf) {
    if
    :: upgradeIsOver
    :: !upgradeIsOver && holder == 0 && (classOf == server || classOf == credential || classOf == throttle ||
        classOf == usageLimit || classOf == fatal || classOf == incomplete) -> attemptBroke(WEBSOCKET, classOf)
    :: else ->
        if
        :: classOf == definite -> verdict = condemned
        :: else
        fi;
        upgradeIsOver = 1
    fi
}

inline hedgeFailed(number, classOf, evidence) {
    if
    :: holder == number -> noteEvidence(evidence)
    :: else
    fi;
    if
    :: holder == 0 && !upgradeIsOver ->
        state = connecting;
        transport = WEBSOCKET;
        hedge = 0;
        failedHedge = 1
    :: else -> attemptBroke(HTTP, classOf)
    fi
}

// MARK: Inputs

#ifdef MUTATE_NO_TOKEN
#define CAN_TAKE true
#else
#define CAN_TAKE (holder == 0)
#endif

inline openedInRace(number) {
    if
    :: number == hedge && (holder == hedge || holder == 0) -> begin(number, HTTP, 0)
    :: number == attempt && !upgradeIsOver && CAN_TAKE -> begin(number, WEBSOCKET, 0)
    :: number == attempt && !upgradeIsOver && !CAN_TAKE ->
        upgradeIsOver = 1;
        action = park
    :: else
    fi
}

inline failedWith(number, classOf, evidence, isLoss) {
    if
    :: state == connecting && IS_ABOUT(number) ->
        if
        :: transport == HTTP -> noteEvidence(evidence)
        :: else
        fi;
        attemptBroke(transport, classOf)
    :: state == racing && (IS_ABOUT(number) || number == hedge) ->
        if
        :: classOf == total -> endWithFailure(total)
        :: classOf != total && number == hedge -> hedgeFailed(number, classOf, evidence)
        :: classOf != total && number != hedge -> upgradeFailed(number, classOf)
        fi
    :: state == exchanging && IS_ABOUT(number) ->
        if
#ifdef MUTATE_REPLACES_AFTER_EVENTS
        :: lentExchange && isLoss && recovery != neverAgain ->
#else
        :: lentExchange && !eventsInExchange && isLoss && recovery != neverAgain ->
#endif
            openAttempt(number, WEBSOCKET, first)
        :: else -> attemptBroke(transport, classOf)
        fi
    :: (state == backingOff || state == refreshing) && IS_ABOUT(number) && classOf == total -> endWithFailure(total)
    :: else
    fi
}

#ifdef MUTATE_DELIVERS_AFTER_THE_END
#define IS_READING (state == exchanging || state == finishedFailed)
#else
#define IS_READING (state == exchanging)
#endif

inline outputCame(number, one, two, place) {
    if
    :: IS_READING && (IS_ABOUT(number) || state != exchanging) ->
        eventsInExchange = lentExchange;
        checkNumber(place, one);
        if
        :: action == receive ->
            action = ignore;
            isProven[transport] = 1;
            admitOutput(one, two)
        :: else
        fi
    :: else ->
        // Nothing speaks before it has opened.
        assert(!((state == connecting || state == racing) && number == attempt));
        assert(!(state == racing && number == hedge))
    fi
}

inline completedBy(number, place) {
    if
    :: state == exchanging && IS_ABOUT(number) ->
        checkNumber(place, 0);
        if
#ifndef MUTATE_COMPLETES_SHORT
        :: action == receive && isVerifying ->
            action = ignore;
            diverge();
            if
            :: isRestart ->
                state = finishedCompleted;
                action = finish
            :: else
            fi
        :: action == receive && !isVerifying ->
#else
        :: action == receive ->
#endif
            state = finishedCompleted;
            action = finish
        :: else
        fi
    :: else
    fi
}

inline step() {
    action = ignore;
    if
    :: kind == started && state == idle -> openAttempt(1, (prefersHTTP -> HTTP : WEBSOCKET), first)
    :: kind == opened && state == connecting && IS_ABOUT(number) -> begin(number, transport, 0)
    :: kind == opened && state == racing -> openedInRace(number)
    :: kind == lent && state == connecting && transport == WEBSOCKET && IS_ABOUT(number) -> begin(number, WEBSOCKET, 1)
    :: kind == hedgeDue && state == connecting && transport == WEBSOCKET && fallsBack && !failedHedge &&
        IS_ABOUT(number) ->
        state = racing;
        attemptCount++;
        hedge = attemptCount;
        action = openHedge
    :: kind == ready && state == racing && number == hedge && CAN_TAKE ->
        holder = hedge;
        mayHaveSent = 1;
        action = release
    :: kind == timerFired && state == backingOff && IS_ABOUT(number) -> openAttempt(attempt, transport, recoveryStep)
    :: kind == credentialRefreshed && state == refreshing && IS_ABOUT(number) ->
        if
        :: one -> openAttempt(attempt, transport, recoveryStep)
        :: else -> endWithFailure(credential)
        fi
    :: kind == eventReceived && state == exchanging && IS_ABOUT(number) ->
        eventsInExchange = lentExchange;
        isNamed = isResumable
    :: kind == outputReceived -> outputCame(number, one, two, place)
    :: kind == completed -> completedBy(number, place)
    :: kind == failed -> failedWith(number, classOf, one, two)
    :: kind == cancelled && state != finishedCompleted && state != finishedFailed -> endWithFailure(cancelled)
    :: else
    fi;
    if
    :: isBroken -> decide((kind == failed && one == ANSWERED))
    :: else
    fi
}
