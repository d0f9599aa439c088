// A copy of bytes in pieces, and the place for it.
#include "CMachine.h"

#include <string.h>

void *cmachine_place(void *room, const void *bytes) {
    const uintptr_t page = 4096, line = 64;
    uintptr_t start = ((uintptr_t)room + page - 1) / page * page;
    uintptr_t offset = ((uintptr_t)bytes + page / 2) % page / line * line;
    return (char *)room + (start + offset - (uintptr_t)room);
}

void cmachine_copy(void *buffer, const void *memory, size_t count, size_t piece_count) {
    const uint8_t *bytes = memory;
    for (size_t offset = 0; offset < count; offset += piece_count) {
        const size_t remaining = count - offset;
        memcpy(buffer, bytes + offset, remaining < piece_count ? remaining : piece_count);
        // The compiler must assume that the buffer is read between two copies.
        __asm__ volatile("" : : "r"(buffer) : "memory");
    }
}
