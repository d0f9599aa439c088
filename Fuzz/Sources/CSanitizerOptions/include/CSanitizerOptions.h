// The address sanitizer's options for a target that links this. It has no function to call.
#ifndef CSANITIZEROPTIONS_H
#define CSANITIZEROPTIONS_H

/// Called by the sanitizer before any other code runs, and before it can check this function itself.
__attribute__((weak, no_sanitize("address"), no_sanitize("coverage"))) const char *__asan_default_options(void);

#endif
