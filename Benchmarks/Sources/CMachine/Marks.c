// An empty function that callgrind sees when it is called.
#include "CMachine.h"

// It is neither inlined nor removed, because it is found by its name.
__attribute__((noinline)) void cmachine_note_pause(void) { __asm__ volatile("" ::: "memory"); }
