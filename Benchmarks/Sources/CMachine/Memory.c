// What the allocator does with memory that is freed.
#include "CMachine.h"

#if defined(__GLIBC__)

#include <limits.h>
#include <malloc.h>

void cmachine_keep_freed_memory(void) {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

#else

void cmachine_keep_freed_memory(void) {}

#endif
