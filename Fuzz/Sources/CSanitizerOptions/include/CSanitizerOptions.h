// What the address sanitizer is told by a target that links this. There is nothing to call.
#ifndef CSANITIZEROPTIONS_H
#define CSANITIZEROPTIONS_H

/// The sanitizer asks for this before anything else runs, and before it can check this function itself.
__attribute__((weak, no_sanitize("address"), no_sanitize("coverage"))) const char *__asan_default_options(void);

#endif
