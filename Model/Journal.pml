// One stream of a journal: producers in several processes that want to make it, its lease and epoch, and a reader.
//
// spin checks every order of events. A process that is stopped (SIGSTOP) is one that takes no step while the clock does:
// it goes on later, with what it knew. Options, given with -D:
//   PRODUCERS=n    the processes, 2 or 3; the first has created the stream
//   EXPIRIES=n     how often a lease ends although its holder lives
//   DEATHS=n       how many processes end, at any point: by kill -9, or after they have released the stream
//   LOST=n         how many answers of the journal are lost: the change was made, or was not
//   LATE=n         how many copies of an append arrive at any later time
//   CANCEL         the end of the stream may be asked for
//   RESTARTS=n     how often another answer may replace the journaled one; 0: a divergence ends the stream
//   ONE_OWNER      all producers have the name of one process, so that only the epoch tells them apart
//   MUTATE_...     the journal or a producer without one of its rules; a check must then fail

// MARK: Sizes

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef EXPIRIES
#define EXPIRIES 2
#endif
#ifndef DEATHS
#define DEATHS (PRODUCERS - 1)
#endif
#ifndef LOST
#define LOST 1
#endif
#ifndef LATE
#define LATE 1
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
// Text, a restart before each further answer, the end; and a place that no correct append reaches.
#define MOST_RECORDS (4 + 4 * RESTARTS + 2)

// MARK: Responses
//
// What the upstream may answer: 1 2 3, 1 4 5, or 1 2. A repeated request may get any of them.

#define RESPONSES 3
#define LENGTH(response) ((response) == 2 -> 2 : 3)
#define SYMBOL(response, index) \
    ((index) == 0 -> 1 : ((response) == 1 -> (index) + 3 : (index) + 1))

// The records that are no text. Those from COMPLETED on are ends.
#define RESTARTED 6
#define COMPLETED 7
#define FAILED 8
#define CANCELLED 9
#define IS_END(record) ((record) >= COMPLETED)

#define NOBODY 255
#ifdef ONE_OWNER
#define OWNER(producer) 0
#else
#define OWNER(producer) (producer)
#endif

// MARK: The journal

// The record at each position; the first is 1.
byte records[MOST_RECORDS + 1]
byte last
byte epoch = 1
byte owner = OWNER(0)
bit leaseRuns = 1
bit isClosed
bit isCancelled

// Outcomes of a change.
mtype = { done, fenced, closed, gap }

// MARK: Producers

// `peeked`: has read the journal before it has the stream, `checked`: is between check and append; both are mutations.
mtype = { idle, peeked, reading, making, checked, gone }

typedef Batch {
    byte first
    byte count
    byte one
    byte two
}

typedef Producer {
    mtype phase = idle
    byte epoch
    // The last position that it knows to be in the journal.
    byte position
    byte response
    // The position before the response's first record.
    byte base
    // The end that it has to append next; 0 for none.
    byte ending
    Batch batch
}

Producer producers[PRODUCERS]

// A copy of an append that has not arrived.
typedef Copy {
    bit waits
    byte epoch
    byte owner
    Batch batch
}

Copy late

byte expiries
byte deaths
byte lost
byte copies

// For the assertions alone: the producer that has the stream, or had it last.
byte holder

#define HOLDS(producer) \
    (producers[producer].epoch == epoch && \
        (producers[producer].phase == reading || producers[producer].phase == making || \
            producers[producer].phase == checked))
#ifdef MUTATE_NO_END_CHECK
#define IS_OPEN true
#else
#define IS_OPEN (!isClosed)
#endif
#ifdef MUTATE_NEVER_TAKES
#define TAKES_OVER false
#else
#define TAKES_OVER true
#endif
#define CAN_BE_TAKEN (IS_OPEN && (owner == NOBODY || !leaseRuns))

// MARK: Changes of the journal, each in one step

// Checks the writer, as every change of one does.
inline checkWriter(anEpoch, anOwner, result) {
    if
#ifndef MUTATE_NO_FENCE
    :: epoch != anEpoch || owner != anOwner -> result = fenced
#endif
    :: else -> result = done
    fi
}

// What is there already is left out.
inline checkPosition(some, known, result) {
    known = 0
    if
    :: result == done ->
#ifndef MUTATE_NO_POSITION_CHECK
        if
        :: last + 1 < some.first -> result = gap
        :: else -> known = last + 1 - some.first
        fi
#endif
        if
        :: result == done && known < some.count && !IS_OPEN -> result = closed
        :: else
        fi
    :: else
    fi
}

inline addRecord(record) {
    last++
    assert(last < MOST_RECORDS)
    records[last] = record
    leaseRuns = 1
    if
    :: IS_END(record) -> isClosed = 1
    :: else
    fi
}

inline write(some, known) {
    if
    :: known == 0 -> addRecord(some.one)
    :: else
    fi
    if
    :: some.count == 2 && known < 2 -> addRecord(some.two)
    :: else
    fi
}

inline takeStream(me) {
    owner = OWNER(me)
    leaseRuns = 1
#ifndef MUTATE_NO_NEW_EPOCH
    epoch++
#endif
    producers[me].epoch = epoch
    holder = me
}

inline renewLease(me, result) {
#ifdef MUTATE_RENEWAL_TAKES_BACK
    owner = OWNER(me)
    epoch = producers[me].epoch
    leaseRuns = 1
    result = done
#else
#ifdef MUTATE_RENEWS_FOR_ANOTHER
    result = done
#else
    checkWriter(producers[me].epoch, OWNER(me), result)
#endif
    if
    :: result == done -> leaseRuns = 1
    :: else
    fi
#endif
}

// Values that are not read again are 0.
inline leave(me, where) {
    producers[me].phase = where
    producers[me].epoch = 0
    producers[me].position = 0
    producers[me].response = 0
    producers[me].base = 0
    producers[me].ending = 0
    clearBatch(producers[me].batch)
}

inline clearBatch(some) {
    some.first = 0
    some.count = 0
    some.one = 0
    some.two = 0
}

inline copyBatch(from, to) {
    to.first = from.first
    to.count = from.count
    to.one = from.one
    to.two = from.two
}

#include "Producer.pml"

// MARK: Outside

// Ends leases: of a holder that is gone at any time, of one that lives a few times, since it was stopped or is slow.
active proctype Clock() {
end:
    do
    :: atomic { leaseRuns && owner != NOBODY && IS_OPEN && !HOLDS(holder) -> leaseRuns = 0 }
    :: atomic { leaseRuns && owner != NOBODY && IS_OPEN && HOLDS(holder) && expiries < EXPIRIES ->
            expiries++
            leaseRuns = 0
        }
    od
}

// Delivers what a broken connection still had.
active proctype Network() {
    mtype result
    byte known
end:
    do
    :: atomic { late.waits ->
            checkWriter(late.epoch, late.owner, result)
            checkPosition(late.batch, known, result)
            if
            :: result == done -> write(late.batch, known)
            :: else
            fi
            late.waits = 0
            late.epoch = 0
            late.owner = 0
            clearBatch(late.batch)
            result = 0
            known = 0
        }
    od
}

// A reader that follows the journal, at any speed.
active proctype Reader() {
    byte position
    byte count
    byte record
    byte response
    // The responses that begin with what was read.
    bool mayBe[RESPONSES] = true
    do
    :: atomic { position < last ->
            position++
            record = records[position]
            if
            :: record == RESTARTED ->
                count = 0
                mayBe[0] = true; mayBe[1] = true; mayBe[2] = true
            :: record < RESTARTED ->
                for (response : 0 .. RESPONSES - 1) {
                    mayBe[response] = mayBe[response] && count < LENGTH(response) &&
                        SYMBOL(response, (count < 3 -> count : 0)) == record
                }
                // Nothing twice, nothing left out, nothing of two responses.
                assert(mayBe[0] || mayBe[1] || mayBe[2])
                count++
            :: else ->
                // A complete stream is a whole response.
                assert(record != COMPLETED || (mayBe[0] && count == 3) || (mayBe[1] && count == 3) ||
                    (mayBe[2] && count == 2))
                response = 0
                break
            fi
            response = 0
            record = 0
        }
    od
    // Nothing comes behind the end.
end:
    do
    :: atomic { last != position -> assert(0) }
    od
}

#ifdef CANCEL
active proctype Canceller() {
    if
    :: isCancelled = 1
    :: skip
    fi
}
#endif
