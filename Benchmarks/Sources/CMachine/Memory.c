// What is done to memory as a whole, and what the allocator does with memory that is freed.
#include "CMachine.h"

#include <string.h>

void *cmachine_place(void *room, const void *bytes) {
    const uintptr_t page = 4096, line = 64;
    uintptr_t start = ((uintptr_t)room + page - 1) / page * page;
    uintptr_t offset = ((uintptr_t)bytes + page / 2) % page / line * line;
    return (char *)room + (start + offset - (uintptr_t)room);
}

void cmachine_fill(void *memory, size_t count) { memset(memory, 0x55, count); }

#if defined(__GLIBC__)

#include <limits.h>
#include <malloc.h>

void cmachine_keep_freed_memory(void) {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

void cmachine_give_back_freed_memory(void) { mallopt(M_MMAP_THRESHOLD, 128 << 10); }

#else

void cmachine_keep_freed_memory(void) {}
void cmachine_give_back_freed_memory(void) {}

#endif
