// A thread that waits in `read` for messages: what a message takes on this machine without a transport.
#ifndef CBARECLIENT_H
#define CBARECLIENT_H

#include <stddef.h>
#include <stdint.h>

/// Reads a paced response of `stream-server` over a WebSocket; how long each message took to get here, in nanoseconds.
///
/// Returns how many messages there were.
size_t cbc_latencies(uint16_t port, uint64_t *latencies, size_t capacity);

/// The clock that the server's stamps are of.
uint64_t cbc_moment(void);

#endif
