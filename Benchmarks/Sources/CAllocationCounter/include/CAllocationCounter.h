// Counts the calls of the allocator, by defining the functions of it.
#ifndef CALLOCATIONCOUNTER_H
#define CALLOCATIONCOUNTER_H

#include <stdint.h>

/// How many times memory was asked for on this thread: malloc, calloc, realloc and their aligned kin.
uint64_t cac_allocation_count(void);

#endif
