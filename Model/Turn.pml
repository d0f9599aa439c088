// One streaming turn: the state machine, its driver, and everything outside that can happen to it.
//
// spin checks every order of events. Options, given with -D:
//   BEGIN=n        how turns begin: 0 with a WebSocket, 1 over HTTP, 2 over HTTP with a response that can be resumed
//   RECOVERY=name  one policy alone: verify, resumeOnly or neverAgain
//   RETRIES=n      retries on each transport
//   RESTARTS=n     how often another answer may replace the delivered one; 0: a divergence ends the turn
//   LIVENESS       nothing that ends a turn from outside or changes nothing: any cycle left is a livelock
//   MUTATE_...     the machine without one of its rules; a check must then fail

// MARK: Sizes

#ifndef RETRIES
#define RETRIES 2
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#define PROBABLE_RETRIES 1
#define THROTTLE_RETRIES 1
#define CREDENTIAL_REFRESHES 1
// The first, the retries on both transports, the fall-back; and each attempt on a WebSocket may have a hedge.
#define EXTRA (THROTTLE_RETRIES + CREDENTIAL_REFRESHES)
#define MOST_ATTEMPTS ((1 + 2 * RETRIES + EXTRA + 1) + (1 + RETRIES + EXTRA))

#define WEBSOCKET 0
#define HTTP 1
#define OTHER(transport) (1 - (transport))

// MARK: Responses
//
// What the server may answer. The digits are text, the letters tool calls.
//   0: 1 2 T 3    1: 1 4 T 3    2: 1 2 U 3    3: 1 2 3    4: T 1 2 3

#define TEXT_LENGTH 3
#define T 8
#define U 9
#define IS_TOOL(symbol) ((symbol) >= T)
#define LENGTH(response) ((response) == 3 -> 3 : 4)
#define TEXT_OF(response, index) ((index) == 1 && (response) == 1 -> 4 : (index) + 1)
#define TOOL_OF(response) ((response) == 3 -> 0 : ((response) == 2 -> U : T))
#define TOOL_PLACE(response) ((response) == 4 -> 0 : ((response) == 3 -> 9 : 2))
#define SYMBOL(response, place) \
    ((place) == TOOL_PLACE(response) -> TOOL_OF(response) : \
        TEXT_OF(response, (place) - ((place) > TOOL_PLACE(response) -> 1 : 0)))

// MARK: Names

// States.
mtype = { idle, connecting, racing, exchanging, backingOff, refreshing, finishedCompleted, finishedFailed }
// Inputs.
mtype = {
    started, opened, lent, hedgeDue, ready, timerFired, credentialRefreshed, eventReceived, outputReceived, completed,
    failed, cancelled
}
// Actions.
mtype = {
    ignore, open, openHedge, release, park, send, receive, deliver, restart, wait, refreshCredential, finish, fail
}
// Recovery steps. None is for a policy that forbids to go on.
mtype = { first, again, resume, verifyAgain, none }
// Failure classes; `incomplete` is the fatal one of a response that the server itself ended early.
mtype = {
    definite, probable, offline, transient, server, size, credential, throttle, usageLimit, fatal, incomplete, total
}
// Kinds of ends that are not named like a class.
mtype = { exhausted, diverged, notRecovered }
// Verdicts.
mtype = { open_, condemnedIfHTTPAnswers, condemned }
// Recovery policies.
mtype = { verify, resumeOnly, neverAgain }
// What a connection does.
mtype = { closed, opening, streaming, parked }

// What a failure before an answer says about the request: `AttemptFailure` and `noteEvidence`.
#define NOT_SENT 0
#define MAY_BE_SENT 1
#define ANSWERED 2

// MARK: The outside's state

// Kind, attempt, failure class, then of output: symbol, second symbol or 0, number;
// of a failure: evidence, loss of connection; of a refresh: whether the credential changed.
chan inputs = [0] of { mtype, byte, mtype, byte, byte, byte }
// Transport, what is asked for.
chan requests = [0] of { byte, mtype }
// deliver, restart, finish or fail; symbol or kind of end; second symbol; the response that is being read.
chan consumer = [0] of { mtype, byte, byte, byte }

// An input that is being put together; reset when the turn has it.
typedef Given {
    mtype kind
    byte number
    mtype class
    byte one
    byte two
    byte place
}

Given given

typedef ConnectionState {
    mtype phase = closed
    byte attempt
    mtype asksFor
    bit isHeld
    bit isLent
    bit isSent
    bit hasEvents
    byte response
    byte place
}

ConnectionState connection[2]
// True while the turn works: everything else waits.
bit isBusy
// The driver's timer or refresh is about this attempt; 0 for none.
byte pending
// The response that can be resumed.
byte keptResponse
// A WebSocket that an earlier turn has left.
bit isKept

// What happened, for the assertions alone. The machine reads none of it.
bit ended
bit requestOfStep
bit requestUnrefused
// The answer that comes contradicts itself, or ends early.
bit isBadAnswer
bit sawDefinite
bit httpAnswered
byte webSocketFailures
byte seenText[TEXT_LENGTH]
byte seenTextCount
byte seenTool
byte seenRestarts
// The response that was read when something was delivered last.
byte seenResponse

#define HAS_SEEN (seenTextCount > 0 || seenTool != 0)
#define IS_LIVE(transport) (connection[transport].phase == opening || connection[transport].phase == streaming)

#include "TurnStateMachine.pml"
#include "Driver.pml"
#include "Outside.pml"

init {
    atomic {
        if
#ifdef RECOVERY
        :: recovery = RECOVERY
#else
        :: recovery = verify
        :: recovery = resumeOnly
        :: recovery = neverAgain
#endif
        fi;
        if
        :: BEGIN == 0 ->
            if
            :: fallsBack = 1
            :: fallsBack = 0
            fi;
            if
            :: isKept = 1
            :: isKept = 0
            fi
        :: BEGIN == 1 -> prefersHTTP = 1
        :: BEGIN == 2 ->
            prefersHTTP = 1;
            isResumable = (recovery != neverAgain)
        fi;
        run Turn();
        run Connection(WEBSOCKET);
        run Connection(HTTP);
        run Server();
        run Clock();
#ifndef LIVENESS
        run Stale();
#endif
        run Consumer()
    }
}
