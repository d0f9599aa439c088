// Functions that do nothing: other programs see when they are called.
#include "CMachine.h"

// Neither inlined nor left out: it is found by its name.
__attribute__((noinline)) void cmachine_note_pause(void) { __asm__ volatile("" ::: "memory"); }
