// A process that makes the stream when it has it: `Producer`, `RecordWriter` and the takeover of `ChappieHub`.

// The record of a producer at a position.
#define RECORD(me, place) \
    (producers[me].ending != 0 -> producers[me].ending : \
        ((place) == producers[me].base -> RESTARTED : \
            ((place) - producers[me].base - 1 == LENGTH(producers[me].response) -> COMPLETED : \
                SYMBOL(producers[me].response, (place) - producers[me].base - 1))))

// Compares the chosen response with what the journal has, behind its last restart.
inline compare(me) {
    for (index : 1 .. producers[me].position) {
        if
        :: records[index] == RESTARTED ->
            producers[me].base = index
            restarts++
        :: else
        fi
    }
    count = producers[me].position - producers[me].base
    differs = count > LENGTH(producers[me].response)
    if
    :: count > 0 && !differs ->
        for (index : 0 .. count - 1) {
            differs = differs || records[producers[me].base + 1 + index] != SYMBOL(producers[me].response, index)
        }
    :: else
    fi
#ifdef MUTATE_NO_COMPARISON
    differs = false
#endif
    if
    :: differs && restarts < RESTARTS -> producers[me].base = producers[me].position + 1
    :: differs && restarts >= RESTARTS -> producers[me].ending = FAILED
    :: else
    fi
    index = 0
    count = 0
    restarts = 0
    differs = false
}

// Requests the response, which may be another one than the last time.
inline request(me) {
    producers[me].phase = making
    if
    :: isCancelled -> producers[me].ending = CANCELLED
    :: else ->
        if
        :: producers[me].response = 0
        :: producers[me].response = 1
        :: producers[me].response = 2
        fi
        compare(me)
    fi
}

// Puts one or two records into a batch.
inline gather(me) {
    producers[me].batch.first = producers[me].position + 1
    producers[me].batch.one = RECORD(me, producers[me].position + 1)
    producers[me].batch.count = 1
    if
    :: !IS_END(producers[me].batch.one) ->
        if
        :: producers[me].batch.two = RECORD(me, producers[me].position + 2)
            producers[me].batch.count = 2
        :: skip
        fi
    :: else
    fi
}

// What the producer does with the answer to an append.
inline conclude(me) {
    // The only writer of a stream that follows what is there sees no gap.
    assert(result != gap)
    if
    :: result == done ->
        // Readers of this process are given the batch: it is in the journal, at these positions.
        assert(last >= producers[me].batch.first + producers[me].batch.count - 1)
        assert(records[producers[me].batch.first] == producers[me].batch.one)
        assert(producers[me].batch.count == 1 ||
            records[producers[me].batch.first + 1] == producers[me].batch.two)
        producers[me].position = producers[me].position + producers[me].batch.count
        if
        :: IS_END(producers[me].batch.one) || IS_END(producers[me].batch.two) -> leave(me, idle)
        :: else ->
            clearBatch(producers[me].batch)
            // It learns with each append that the end was asked for.
            if
            :: isCancelled -> producers[me].ending = CANCELLED
            :: else
            fi
        fi
    :: else -> leave(me, idle)
    fi
    result = 0
    known = 0
}

// Appends the batch in one step.
inline append(me) {
#ifdef MUTATE_DELIVERS_BEFORE_APPEND
    assert(last >= producers[me].batch.first && records[producers[me].batch.first] == producers[me].batch.one)
#endif
    checkWriter(producers[me].epoch, OWNER(me), result)
    checkPosition(producers[me].batch, known, result)
#ifdef MUTATE_CHECKS_BEFORE_APPEND
    if
    :: result == done -> producers[me].phase = checked
    :: else -> conclude(me)
    fi
#else
    if
    :: result == done -> write(producers[me].batch, known)
    :: else
    fi
    conclude(me)
#endif
}

// An append whose answer is lost: the batch stays, and is appended again, or it is given up.
inline appendUnheard(me) {
    lost++
    if
    :: checkWriter(producers[me].epoch, OWNER(me), result)
        checkPosition(producers[me].batch, known, result)
        if
        :: result == done -> write(producers[me].batch, known)
        :: else
        fi
    :: skip
    fi
    if
    :: leave(me, idle)
    :: skip
    fi
    result = 0
    known = 0
}

proctype Process(byte me) {
    mtype result
    byte known
    byte index
    byte count
    byte restarts
    bool differs
end:
    do
    // Takes the stream.
#ifdef MUTATE_READS_BEFORE_TAKING
    :: atomic { producers[me].phase == idle && !isClosed ->
            producers[me].position = last
            producers[me].phase = peeked
        }
    :: atomic { producers[me].phase == peeked && CAN_BE_TAKEN ->
            takeStream(me)
            producers[me].phase = reading
        }
#else
    :: atomic { producers[me].phase == idle && CAN_BE_TAKEN && TAKES_OVER ->
            takeStream(me)
            producers[me].phase = reading
        }
#endif
    // Reads what is there, and requests the response.
    :: atomic { producers[me].phase == reading ->
#ifndef MUTATE_READS_BEFORE_TAKING
            producers[me].position = last
#endif
            request(me)
        }
    // Writes.
    :: atomic { producers[me].phase == making && producers[me].batch.count == 0 -> gather(me) }
    :: atomic { producers[me].phase == making && producers[me].batch.count > 0 -> append(me) }
    :: atomic { producers[me].phase == making && producers[me].batch.count > 0 && lost < LOST -> appendUnheard(me) }
    :: atomic { producers[me].phase == making && producers[me].batch.count > 0 && !late.waits && copies < LATE ->
            copies++
            late.waits = 1
            late.epoch = producers[me].epoch
            late.owner = OWNER(me)
            copyBatch(producers[me].batch, late.batch)
        }
#ifdef MUTATE_CHECKS_BEFORE_APPEND
    :: atomic { producers[me].phase == checked ->
            producers[me].phase = making
            write(producers[me].batch, known)
            result = done
            conclude(me)
        }
#endif
    // Renews its lease: when that is over and nobody has taken the stream, it has it still.
    :: atomic {
            (producers[me].phase == reading || producers[me].phase == making) &&
                (!leaseRuns || epoch != producers[me].epoch) && !isClosed ->
            renewLease(me, result)
            if
            :: result == fenced -> leave(me, idle)
            :: result == done && isCancelled && producers[me].batch.count == 0 && producers[me].phase == making ->
                producers[me].ending = CANCELLED
            :: else
            fi
            result = 0
        }
    // Ends, and may have released the stream.
    :: atomic { producers[me].phase != gone && deaths < DEATHS ->
            deaths++
            if
            :: producers[me].epoch == epoch && producers[me].batch.count == 0 &&
                (producers[me].phase == reading || producers[me].phase == making) -> owner = NOBODY
            :: skip
            fi
            leave(me, gone)
            break
        }
    od
}

init {
    atomic {
        // The first process has created the stream.
        producers[0].phase = reading
        producers[0].epoch = 1
        run Process(0)
        run Process(1)
#if PRODUCERS > 2
        run Process(2)
#endif
    }
}
