// A thread that waits in `read` for messages, or in `write` for room: this machine without a transport.
#ifndef CBARECLIENT_H
#define CBARECLIENT_H

#include <stddef.h>
#include <stdint.h>

/// Reads a paced response of `stream-server` over a WebSocket, and writes the latency of each message in nanoseconds.
///
/// Returns the number of messages.
size_t cbc_latencies(uint16_t port, uint64_t *latencies, size_t capacity);

/// Messages that were sent: the time until the server had read them, and its answer, the number of those that have come
/// and of those that differed, as text; empty after a failure.
typedef struct {
    double seconds, processor_seconds;
    char counts[64];
} cbc_sent;

/// Sends `count` messages of `css_upload` to `stream-server drop` over a WebSocket, in a frame and a `write` each.
cbc_sent cbc_send(uint16_t port, size_t count);

/// The time of the clock that the server's time stamps are taken from, in nanoseconds.
uint64_t cbc_moment(void);

#endif
