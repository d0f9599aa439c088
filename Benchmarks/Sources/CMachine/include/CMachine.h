// The machine: its cores, how fast it copies, and marks for programs that count instructions.
#ifndef CMACHINE_H
#define CMACHINE_H

#include <stddef.h>
#include <stdint.h>

/// Copies with `memcpy`, in pieces that all go to the beginning of the same buffer.
///
/// Returns a byte of the copy, so that no compiler leaves it out.
uint8_t cmachine_copy(void *buffer, const void *bytes, size_t count, size_t piece_count);

/// How many bytes more than a copy needs there have to be where `cmachine_place` puts it.
enum { CMACHINE_PLACE_COUNT = 8192 };

/// Where in `room` a copy of `bytes` lies well: half a page behind them, as the low bits of addresses go.
///
/// A copy whose low bits are a few bytes behind those of the original has a third of the speed on some processors,
/// which take what was just written for what is to be read next.
void *cmachine_place(void *room, const void *bytes);

/// Keeps the calling thread on a core; a negative number stands for the core that the thread is on.
void cmachine_pin_to_core(int core);

/// Keeps all threads of the process, and the threads that they start, on a core.
void cmachine_pin_process_to_core(int core);

/// The core with an index among those that the process may use, in ascending order; -1 when there is none.
///
/// A negative index counts from the end: the last core has -1.
int cmachine_usable_core(int index);

/// Lets the process be ended by signals again, when it was started from a thread that blocks them.
void cmachine_take_signals(void);

/// Does nothing: programs that count instructions begin anew where it is called.
void cmachine_note_pause(void);

#endif
