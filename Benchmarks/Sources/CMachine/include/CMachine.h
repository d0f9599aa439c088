// The machine: what it can do with bytes at best, and on which of its cores and pages.
#ifndef CMACHINE_H
#define CMACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// How many CRs and LFs there are, by vector comparisons and bit masks, and nothing else.
///
/// AVX2 where the processor has it, SSE2 on other x86-64, NEON on arm64, byte by byte elsewhere.
size_t cmachine_count_line_terminators(const void *bytes, size_t count);

/// Which of these forms this processor runs.
const char *cmachine_instruction_set(void);

/// How many LFs there are, by one call of `memchr` for each.
size_t cmachine_count_line_feeds_by_memchr(const void *bytes, size_t count);

/// Copies with `memcpy`, in pieces that all go to the beginning of the same buffer.
///
/// A piece of the whole size is one copy. Returns a byte of the copy, so that no compiler leaves it out.
uint8_t cmachine_copy(void *buffer, const void *bytes, size_t count, size_t piece_count);

/// How many bytes more than a copy needs there have to be where `cmachine_place` puts it.
enum { CMACHINE_PLACE_COUNT = 8192 };

/// Where in `room` a copy of `bytes` lies well: half a page behind them, as the low bits of addresses go.
///
/// A copy whose low bits are a few bytes behind those of the original has a third of the speed on some processors,
/// which take what was just written for what is to be read next.
void *cmachine_place(void *room, const void *bytes);

/// Writes every byte of some memory.
void cmachine_fill(void *memory, size_t count);

/// Keeps the calling thread on a core; a negative one is the core that it is on.
///
/// Returns the core, or -1 when the system does not do it.
int cmachine_pin_to_core(int core);

/// Keeps all threads of the process on a core, and with them those that they start.
///
/// Returns the core, or -1 when the system does not do it.
int cmachine_pin_process_to_core(int core);

/// The cores that the process may use, in order: the one with this index, or -1 when there are not so many.
///
/// A negative index counts from behind: the last one has -1.
int cmachine_usable_core(int index);

/// Makes the allocator keep what is freed, so that no page is given to the process twice.
void cmachine_keep_freed_memory(void);

/// Makes the allocator give large pieces back to the system when they are freed, however often that happens.
void cmachine_give_back_freed_memory(void);

/// Lets the process be ended by signals again, whoever has started it from a thread that blocks them.
void cmachine_take_signals(void);

/// The moment, in seconds of the monotonic clock.
double cmachine_moment(void);

/// Does nothing: whoever counts instructions begins anew where it is called.
void cmachine_note_pause(void);

/// Begins to look how fast a core is, from time to time and for an hour; false where that cannot be.
///
/// What the file has that the environment variable CORE_PACE_FILE names, other processes have seen.
bool cmachine_pace_start(int core);

/// Which share of its speed the core had between two moments, 1 at most; NaN when nobody has looked.
double cmachine_pace(double start, double end);

#endif
