#include "CProcessMemory.h"

#include <stdlib.h> // defines `__GLIBC__`

#ifdef __GLIBC__
#include <malloc.h>

size_t process_memory_used(void) {
    struct mallinfo2 information = mallinfo2();
    return information.uordblks + information.hblkhd;
}

void process_memory_trim(void) { malloc_trim(0); }
#else
size_t process_memory_used(void) { return 0; }

void process_memory_trim(void) {}
#endif
