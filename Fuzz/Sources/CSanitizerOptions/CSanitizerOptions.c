// The address sanitizer's options for a target with threads.
#include "CSanitizerOptions.h"

// It cannot look for leaks while a service thread runs: what that thread has not freed yet counts as lost, because Swift
// keeps tags in some pointers. A short quarantine and short stacks halve the processor time of a turn.
const char *__asan_default_options(void) {
    return "detect_leaks=0:quarantine_size_mb=16:malloc_context_size=8";
}
