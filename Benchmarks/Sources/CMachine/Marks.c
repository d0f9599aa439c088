// Marks for callgrind: an empty function whose calls it sees, and a request to it.
#include "CMachine.h"

// Where the header of valgrind is missing, nothing is counted either.
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif

// It is neither inlined nor removed, because it is found by its name.
__attribute__((noinline)) void cmachine_note_pause(void) { __asm__ volatile("" ::: "memory"); }

void cmachine_begin_simulation(void) {
#ifdef CALLGRIND_START_INSTRUMENTATION
    CALLGRIND_START_INSTRUMENTATION;
#endif
}
