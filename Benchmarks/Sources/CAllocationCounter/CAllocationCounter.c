// The functions of the allocator: each counts the call, and calls that of the C library.
#define _GNU_SOURCE
#include "CAllocationCounter.h"

#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t count);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t count);
extern void *__libc_memalign(size_t alignment, size_t count);

static _Thread_local uint64_t allocation_count;

uint64_t cac_allocation_count(void) { return allocation_count; }

void *malloc(size_t count) {
    ++allocation_count;
    return __libc_malloc(count);
}

void *calloc(size_t count, size_t size) {
    ++allocation_count;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t count) {
    ++allocation_count;
    return __libc_realloc(memory, count);
}

void *aligned_alloc(size_t alignment, size_t count) {
    ++allocation_count;
    return __libc_memalign(alignment, count);
}

void *memalign(size_t alignment, size_t count) {
    ++allocation_count;
    return __libc_memalign(alignment, count);
}

int posix_memalign(void **memory, size_t alignment, size_t count) {
    ++allocation_count;
    *memory = __libc_memalign(alignment, count);
    return *memory == NULL ? ENOMEM : 0;
}
