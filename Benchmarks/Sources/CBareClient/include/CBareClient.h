// A thread that waits in `read` for messages: the latency of this machine without a transport.
#ifndef CBARECLIENT_H
#define CBARECLIENT_H

#include <stddef.h>
#include <stdint.h>

/// Reads a paced response of `stream-server` over a WebSocket, and writes the latency of each message in nanoseconds.
///
/// Returns the number of messages.
size_t cbc_latencies(uint16_t port, uint64_t *latencies, size_t capacity);

/// The time of the clock that the server's time stamps are taken from, in nanoseconds.
uint64_t cbc_moment(void);

#endif
