// The machine: its cores, how fast it copies, and marks for programs that count instructions.
#ifndef CMACHINE_H
#define CMACHINE_H

#include <stddef.h>
#include <stdint.h>

/// Copies with `memcpy`, in pieces that are all written to the beginning of the same buffer.
void cmachine_copy(void *buffer, const void *bytes, size_t count, size_t piece_count);

/// The bytes that `cmachine_place` needs in `room` besides those of the copy.
enum { CMACHINE_PLACE_COUNT = 8192 };

/// The place in `room` for a copy of `bytes`: half a page after them, by the low bits of their addresses.
///
/// A copy whose address is a few bytes after that of the original, by the low bits, has a third of the speed on some
/// processors, which take the bytes just written for those to be read next.
void *cmachine_place(void *room, const void *bytes);

/// Keeps the calling thread on a core; a negative number stands for the core that the thread is on.
void cmachine_pin_to_core(int core);

/// Keeps all threads of the process, and the threads that they start, on a core.
void cmachine_pin_process_to_core(int core);

/// The core with an index among those that the process may use, in ascending order; -1 when there is none.
///
/// A negative index counts from the end: the last core has -1.
int cmachine_usable_core(int index);

/// Unblocks all signals, which a parent's thread may have blocked, so that they can end the process.
void cmachine_take_signals(void);

/// Marks a pause: callgrind starts a new profile where this empty function is called.
void cmachine_note_pause(void);

/// Begins the simulation of a run under callgrind with --instr-atstart=no; does nothing in any other run.
void cmachine_begin_simulation(void);

#endif
