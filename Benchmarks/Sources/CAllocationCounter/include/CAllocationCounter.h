// Counts the calls of the allocator by defining its functions.
#ifndef CALLOCATIONCOUNTER_H
#define CALLOCATIONCOUNTER_H

#include <stdint.h>

/// The number of calls of malloc, calloc, realloc and the aligning functions on this thread.
uint64_t cac_allocation_count(void);

#endif
