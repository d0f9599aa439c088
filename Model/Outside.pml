// All that can happen to a turn: two connections, a server, a clock, old connections that still talk, a consumer.
// Whoever gives an input does so with the last statement of an atomic sequence: the turn is always ready for it.

// MARK: Connections

inline noteFailure(where, isReplaced) {
    d_step {
        if
        :: where == WEBSOCKET && given.class == definite -> sawDefinite = 1
        :: where == WEBSOCKET && !isReplaced && webSocketFailures <= PROBABLE_RETRIES &&
            (given.class == probable || given.class == transient || given.class == offline || given.class == server) ->
            webSocketFailures++
        :: else
        fi;
        if
        :: given.one == ANSWERED && where == HTTP -> noteAnswer()
        :: else
        fi;
        if
        :: given.one == ANSWERED && connection[where].isSent -> requestUnrefused = 0
        :: else
        fi;
        isBadAnswer = isBadAnswer || given.class == incomplete
    }
}

inline noteAnswer() {
    httpAnswered = httpAnswered || verdict == condemnedIfHTTPAnswers
}

// Ends the connection with a failure of any class.
inline breakConnection(where, evidence, isLoss) {
    given.number = connection[where].attempt;
    given.one = evidence;
    given.two = isLoss;
    if
    :: given.class = definite
    :: given.class = probable
    :: given.class = offline
    :: given.class = transient
    :: given.class = server
    :: given.class = size
    :: given.class = credential
    :: given.class = throttle
    :: given.class = usageLimit
    :: given.class = fatal
    :: connection[where].phase == streaming -> given.class = incomplete
    fi;
    noteFailure(where, (connection[where].isLent && !connection[where].hasEvents && isLoss));
    d_step { closeConnection(where) };
    inputs!failed, given.number, given.class, given.one, given.two, 0
}

#define PHASE connection[which].phase
#define PLACE connection[which].place
#define RESPONSE connection[which].response

proctype Connection(bit which) {
end:
    do
    // HTTP writes the request as soon as it can, unless it is held.
    :: atomic {
            !isBusy && which == HTTP && PHASE == opening && !connection[which].isHeld &&
                !connection[which].isSent ->
            requests!HTTP, connection[which].asksFor
        }
    :: atomic {
            !isBusy && which == HTTP && PHASE == opening && connection[which].isHeld ->
            inputs!ready, connection[which].attempt, 0, 0, 0, 0
        }
    // The upgrade is done, or the header section is there: a server may answer a request that is still held.
    :: atomic {
            !isBusy && PHASE == opening &&
                (which == WEBSOCKET || connection[which].isSent || connection[which].isHeld) ->
            d_step {
                PHASE = streaming;
                if
                :: which == HTTP -> noteAnswer()
                :: else
                fi
            }
            inputs!opened, connection[which].attempt, 0, 0, 0, 0
        }
    // A WebSocket that an earlier turn has left takes the place of a new one. It may be dead.
    :: atomic {
            !isBusy && which == WEBSOCKET && isKept && PHASE == opening && state == connecting ->
#ifndef MUTATE_LENDS_AGAIN
            isKept = 0;
#endif
            PHASE = streaming;
            connection[which].isLent = 1;
            inputs!lent, connection[which].attempt, 0, 0, 0, 0
        }
    // The upgrade or the request fails before an answer, or the answer is a status that refuses it.
    :: atomic {
            !isBusy && PHASE == opening ->
            breakConnection(which, (connection[which].isSent -> MAY_BE_SENT : NOT_SENT), 0)
        }
    :: atomic { !isBusy && PHASE == opening -> breakConnection(which, ANSWERED, 0) }
    // An exchange fails: the connection is lost, or the server says something that ends it.
    :: atomic { !isBusy && PHASE == streaming -> breakConnection(which, NOT_SENT, 0) }
    :: atomic { !isBusy && PHASE == streaming && connection[which].isLent -> breakConnection(which, NOT_SENT, 1) }
    // A parked WebSocket may break, and nobody minds.
    :: atomic {
            !isBusy && PHASE == parked ->
            given.number = connection[which].attempt;
            given.class = transient;
            PHASE = closed;
            inputs!failed, given.number, given.class, NOT_SENT, 0, 0
        }
    // The response's first event, which names it.
    :: atomic {
            !isBusy && PHASE == streaming && PLACE == 0 && !connection[which].hasEvents &&
                (connection[which].isLent || (isResumable && connection[which].asksFor != resume)) ->
            connection[which].hasEvents = 1;
            inputs!eventReceived, connection[which].attempt, 0, 0, 0, 0
        }
    // One symbol.
    :: atomic {
            !isBusy && PHASE == streaming && PLACE < LENGTH(RESPONSE) ->
            PLACE++;
            connection[which].hasEvents = connection[which].isLent || connection[which].hasEvents;
            inputs!outputReceived, connection[which].attempt, 0, SYMBOL(RESPONSE, PLACE - 1), 0, PLACE - 1
        }
    // Two symbols of text in one delta.
    :: atomic {
            !isBusy && PHASE == streaming && !isResumable && PLACE + 1 < LENGTH(RESPONSE) &&
                !IS_TOOL(SYMBOL(RESPONSE, PLACE)) && !IS_TOOL(SYMBOL(RESPONSE, PLACE + 1)) ->
            PLACE = PLACE + 2;
            connection[which].hasEvents = connection[which].isLent || connection[which].hasEvents;
            inputs!outputReceived, connection[which].attempt, 0, SYMBOL(RESPONSE, PLACE - 2),
                SYMBOL(RESPONSE, PLACE - 1), PLACE - 2
        }
#ifndef LIVENESS
    // The same again: a tool call, or of a numbered response any event.
    :: atomic {
            !isBusy && PHASE == streaming && PLACE > 0 && PLACE <= LENGTH(RESPONSE) &&
                (isResumable -> nextNumber == PLACE : IS_TOOL(SYMBOL(RESPONSE, PLACE - 1))) ->
            inputs!outputReceived, connection[which].attempt, 0, SYMBOL(RESPONSE, PLACE - 1), 0, PLACE - 1
        }
#endif
    // A numbered response leaves one out.
    :: atomic {
            !isBusy && PHASE == streaming && isResumable && PLACE + 1 < LENGTH(RESPONSE) && PLACE == nextNumber ->
            PLACE = PLACE + 2;
            inputs!outputReceived, connection[which].attempt, 0, SYMBOL(RESPONSE, PLACE - 1), 0, PLACE - 1
        }
    :: atomic {
            !isBusy && PHASE == streaming && PLACE == LENGTH(RESPONSE) ->
            inputs!completed, connection[which].attempt, 0, 0, 0, PLACE
        }
    od
}

// MARK: Server

// What it gets, and what it answers: any response to a request, and the rest of the last one to a GET at a cursor.
proctype Server() {
    byte where; mtype asked; byte answer;
end:
    do
    :: atomic {
            requests?where, asked ->
            // Nothing is sent after the end, and so nothing after a cancellation.
            assert(!ended);
            // Each recovery step sends at most one request, and never two are alive.
            assert(!requestOfStep);
            assert(!connection[where].isSent);
            assert(!(IS_LIVE(OTHER(where)) && connection[OTHER(where)].isSent));
            requestOfStep = 1;
            isBadAnswer = 0;
            connection[where].isSent = 1;
            if
            :: asked == resume ->
                assert(recovery != neverAgain);
                answer = keptResponse;
                if
                :: connection[where].place = nextNumber
                :: nextNumber < LENGTH(keptResponse) -> connection[where].place = nextNumber + 1
                :: nextNumber > 0 -> connection[where].place = nextNumber - 1
                // It repeats an event, and contradicts it.
                :: nextNumber > 0 ->
                    connection[where].place = nextNumber - 1;
                    select(answer : 0 .. 4);
                    if
                    :: SYMBOL(answer, nextNumber - 1) != SYMBOL(keptResponse, nextNumber - 1) -> isBadAnswer = 1
                    :: else -> answer = keptResponse
                    fi
                fi
            :: else ->
                assert(!(recovery == neverAgain && requestUnrefused));
                assert(!(recovery != verify && HAS_SEEN));
                requestUnrefused = (recovery == neverAgain);
                select(answer : 0 .. 4);
                keptResponse = (isResumable -> answer : 0)
            fi;
            connection[where].response = answer;
            where = 0; asked = 0; answer = 0; toServer = 0; sendsOver = 0
        }
    od
}

// MARK: Clock

proctype Clock() {
end:
    do
    :: atomic { !isBusy && pending != 0 && state == backingOff -> inputs!timerFired, pending, 0, 0, 0, 0 }
    :: atomic { !isBusy && pending != 0 && state == refreshing -> inputs!credentialRefreshed, pending, 0, 1, 0, 0 }
    :: atomic { !isBusy && pending != 0 && state == refreshing -> inputs!credentialRefreshed, pending, 0, 0, 0, 0 }
    :: atomic {
            !isBusy && connection[WEBSOCKET].phase == opening && state == connecting && fallsBack && !failedHedge ->
            inputs!hedgeDue, connection[WEBSOCKET].attempt, 0, 0, 0, 0
        }
    // Time budgets of events.
    :: atomic {
            !isBusy && connection[WEBSOCKET].phase == streaming ->
            given.class = transient;
            noteFailure(WEBSOCKET, false);
            inputs!failed, connection[WEBSOCKET].attempt, transient, MAY_BE_SENT, 0, 0
        }
    :: atomic {
            !isBusy && connection[HTTP].phase == streaming ->
            inputs!failed, connection[HTTP].attempt, transient, MAY_BE_SENT, 0, 0
        }
#ifndef LIVENESS
    :: atomic { !isBusy && state != idle && !ended -> inputs!failed, attempt, total, MAY_BE_SENT, 0, 0 }
#endif
    od
}

// MARK: Old connections

#define IS_STALE(number) \
    ((number) > 0 && (number) != pending && (number) != attempt && !(state == racing && (number) == hedge))
#define STALE_NUMBER (IS_STALE(attemptCount) -> attemptCount : attempt - 1)

// Says anything about attempts that were given up, and repeats what was said of the one that runs.
#ifndef LIVENESS
proctype Stale() {
end:
    do
    :: atomic {
            !isBusy && !ended && (IS_STALE(attemptCount) || IS_STALE(attempt - 1)) ->
            given.number = STALE_NUMBER;
            if
            :: given.kind = opened
            :: given.kind = lent
            :: given.kind = hedgeDue
            :: given.kind = ready
            :: given.kind = timerFired
            :: given.kind = credentialRefreshed
            :: given.kind = eventReceived
            :: given.kind = outputReceived; given.one = 4; given.place = 1
            :: given.kind = outputReceived; given.one = U; given.place = 2
            :: given.kind = completed; given.place = 4
            :: given.kind = failed; given.class = definite
            fi;
            inputs!given.kind, given.number, given.class, given.one, 0, given.place
        }
    :: atomic {
            !isBusy && (state == exchanging || state == connecting) ->
            if
            :: state == exchanging -> given.kind = opened
            :: state == exchanging -> given.kind = hedgeDue
            :: given.kind = timerFired
            :: given.kind = credentialRefreshed
            fi;
            inputs!given.kind, attempt, 0, 1, 0, 0
        }
    :: ended -> break
    od;
end_afterTheEnd:
    do
    :: inputs!started, 0, 0, 0, 0, 0
    :: inputs!opened, 1, 0, 0, 0, 0
    :: inputs!outputReceived, 1, 0, 1, 0, 0
    :: inputs!completed, 1, 0, 0, 0, 4
    :: inputs!failed, 1, transient, MAY_BE_SENT, 0, 0
    :: inputs!timerFired, 1, 0, 0, 0, 0
    :: inputs!cancelled, 0, 0, 0, 0, 0
    od
}
#endif

// MARK: Consumer

inline take(value) {
    if
    :: value == 0
    :: value != 0 && !IS_TOOL(value) ->
        // The next symbol of the response that is being read.
        assert(seenTextCount < TEXT_LENGTH);
        assert(value == TEXT_OF(response, seenTextCount));
        seenText[seenTextCount] = value;
        seenTextCount++
    :: value != 0 && IS_TOOL(value) ->
        // A tool runs once.
        assert(seenTool == 0);
        seenTool = value
    fi
}

// All that was delivered is the beginning of one response, the one that is being read.
inline checkPrefix() {
    assert(seenTool == 0 || seenTool == TOOL_OF(response));
    assert(seenTextCount < 1 || seenText[0] == TEXT_OF(response, 0));
    assert(seenTextCount < 2 || seenText[1] == TEXT_OF(response, 1));
    assert(seenTextCount < 3 || seenText[2] == TEXT_OF(response, 2))
}

proctype Consumer() {
    mtype what; byte one; byte two; byte response; bit hasCancelled;
    if
    :: inputs!started, 0, 0, 0, 0, 0
#ifndef LIVENESS
    :: atomic { hasCancelled = 1; inputs!cancelled, 0, 0, 0, 0, 0 }
#endif
    fi;
    do
#ifndef LIVENESS
    :: atomic { !isBusy && !hasCancelled -> hasCancelled = 1; inputs!cancelled, 0, 0, 0, 0, 0 }
#endif
    :: atomic {
            consumer?what, one, two, response ->
            d_step {
                assert(!hasCancelled || (what == fail && one == cancelled));
                if
                :: what == restart ->
                    // Another answer comes from its first symbol, in place of one on which no program has acted.
                    assert(seenTool == 0);
                    assert(isBadAnswer || (HAS_SEEN && response != seenResponse));
                    seenRestarts++;
                    assert(seenRestarts <= RESTARTS);
                    seenText[0] = 0; seenText[1] = 0; seenText[2] = 0; seenTextCount = 0;
                    take(one);
                    take(two);
                    checkPrefix();
                    seenResponse = response
                :: what == deliver ->
                    take(one);
                    take(two);
                    checkPrefix();
                    seenResponse = response
                :: what == finish ->
                    checkPrefix();
                    assert(seenTextCount == TEXT_LENGTH && seenTool == TOOL_OF(response))
                :: what == fail ->
                    // Who answers with the same response again is never said to have answered with another.
                    assert(one != diverged || isBadAnswer || (HAS_SEEN && response != seenResponse))
                fi;
                if
                :: what == restart -> isRestart = 0; firstAgain = 0; secondAgain = 0
                :: else ->
                    ended = (what != deliver);
                    toConsumer = 0; deliveredFirst = 0; deliveredSecond = 0; reading = 0
                fi;
                if
                :: ended -> forgetGhosts()
                :: else
                fi;
                what = 0; one = 0; two = 0; response = 0
            }
        }
    :: ended -> break
    od;
    // There is one end, and nothing behind it.
end:
    consumer?what, one, two, response ->
    assert(false)
}
