// What the driver tells others after a step; reset by whoever is told.
mtype toServer
byte sendsOver
mtype toConsumer
byte reading

// The driver: one task, which takes one input, steps the machine and performs the action. `TurnDriver` has no policy.

inline closeConnection(which) {
    connection[which].phase = closed;
    connection[which].attempt = 0;
    connection[which].asksFor = 0;
    connection[which].isHeld = 0;
    connection[which].isLent = 0;
    connection[which].isSent = 0;
    connection[which].hasEvents = 0;
    connection[which].response = 0;
    connection[which].place = 0
}

inline closeConnections() {
    closeConnection(WEBSOCKET);
    closeConnection(HTTP)
}

inline openConnection(which, number, asked, held) {
    closeConnection(which);
    connection[which].phase = opening;
    connection[which].attempt = number;
    connection[which].asksFor = asked;
    connection[which].isHeld = held
}

// Nothing of an ended turn is read again, the ghosts of its end apart.
inline forgetTurn() {
    attempt = 0; transport = 0; hedge = 0; holder = 0; upgradeIsOver = 0; lentExchange = 0; eventsInExchange = 0;
    recoveryStep = 0;
    usedRetries[0] = 0; usedRetries[1] = 0; usedProbable[0] = 0; usedProbable[1] = 0; usedThrottle = 0;
    refusedCredential = 0; failedHedge = 0; isProven[0] = 0; isProven[1] = 0; mayHaveSent = 0;
    text[0] = 0; text[1] = 0; text[2] = 0; textCount = 0; textCame = 0; tool = 0; toolCame = 0; isVerifying = 0;
    restartCount = 0; isResumption = 0; isNamed = 0; nextNumber = 0; trackedResponse = 0;
    isKept = 0
}

// The assertions have looked at everything by then. What ended turns have in common need not be told apart.
inline forgetGhosts() {
    attemptCount = 0; verdict = open_; keptResponse = 0;
    requestOfStep = 0; requestUnrefused = 0; isBadAnswer = 0; sawDefinite = 0; httpAnswered = 0; webSocketFailures = 0;
    seenText[0] = 0; seenText[1] = 0; seenText[2] = 0; seenTextCount = 0; seenTool = 0; seenResponse = 0;
    seenRestarts = 0;
    recovery = verify; prefersHTTP = 0; fallsBack = 0; isResumable = 0
}

// Performs the machine's action. What the consumer and the server get is left in `toConsumer` and `toServer`.
inline perform() {
    if
    :: action == ignore
    :: action == open ->
        // A connection that was given up is closed before another is opened.
        closeConnections();
        pending = 0;
        requestOfStep = 0;
        openConnection(transport, attempt, recoveryStep, 0);
        recoveryStep = 0
    :: action == openHedge -> openConnection(HTTP, hedge, connection[WEBSOCKET].asksFor, 1)
    :: action == release ->
        connection[HTTP].isHeld = 0;
        toServer = connection[HTTP].asksFor;
        sendsOver = HTTP
    :: action == park -> connection[WEBSOCKET].phase = parked
    :: action == send ->
        closeConnection(HTTP);
        toServer = connection[WEBSOCKET].asksFor;
        sendsOver = WEBSOCKET
    :: action == receive ->
        closeConnection(WEBSOCKET);
        if
        :: connection[HTTP].isHeld ->
            // The server has answered a request that was still held.
            connection[HTTP].isHeld = 0;
            toServer = connection[HTTP].asksFor;
            sendsOver = HTTP
        :: else
        fi
    :: action == deliver -> toConsumer = deliver
    :: action == wait || action == refreshCredential ->
        closeConnections();
        pending = attempt
    :: action == finish || action == fail ->
        toConsumer = action;
        pending = 0
    fi;
    reading = (toConsumer == 0 && !isRestart -> 0 :
        (connection[HTTP].phase == streaming -> connection[HTTP].response : connection[WEBSOCKET].response));
    assert(verdict != condemned || sawDefinite || (webSocketFailures > PROBABLE_RETRIES && httpAnswered));
    if
    :: action == finish || action == fail ->
#ifdef MUTATE_NO_CANCEL
        // The connection lives on when the consumer has gone.
        if
        :: endKind == cancelled
        :: else -> closeConnections()
        fi;
#else
        closeConnections();
#endif
        forgetTurn()
    :: else
    fi
}

proctype Turn() {
    mtype kind; byte number; mtype classOf; byte one; byte two; byte place;
end:
    do
    :: atomic {
            inputs?kind, number, classOf, one, two, place ->
            d_step {
                step();
                perform();
                if
                :: action == fail -> deliveredFirst = endKind
                :: else
                fi;
                kind = 0; number = 0; classOf = 0; one = 0; two = 0; place = 0;
                given.kind = 0; given.number = 0; given.class = 0; given.one = 0; given.two = 0; given.place = 0;
                action = 0; endKind = 0; isBroken = 0; brokenTransport = 0; failureClass = 0;
                verdictOfOutput = 0; symbol = 0;
                isBusy = 1
            }
            if
            :: isRestart -> consumer!restart, firstAgain, secondAgain, reading
            :: else
            fi;
            if
            :: toConsumer != 0 -> consumer!toConsumer, deliveredFirst, deliveredSecond, reading
            :: toConsumer == 0 && toServer != 0 -> requests!sendsOver, toServer
            :: else
            fi;
            isBusy = 0
        }
    od
}
