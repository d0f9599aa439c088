// The memory that is allocated, which Swift's overlay does not report.
#pragma once

#include <stddef.h>

/// Bytes that were allocated and not freed, in every arena; 0 where the system does not say.
size_t process_memory_used(void);
/// Gives free pages back to the system, so that what is resident is in use.
void process_memory_trim(void);
