// What the machine does with the same bytes at best: a loop around one system call, with no more in it than is needed
// to find the messages. No transport that reads them can cost less.
#ifndef CBARECLIENT_H
#define CBARECLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What a loop has done.
typedef struct {
    bool is_complete;
    uint64_t message_count;
    uint64_t byte_count;
    /// Processor time of the thread, after the answer to the opening handshake.
    double seconds;
} cbc_result;

/// Reads frames from the server at a port until so many messages have come, and only looks at their headers.
///
/// `is_secure`: by SSL_read instead of read, without looking at the server's certificate.
cbc_result cbc_read(uint16_t port, bool is_secure, uint64_t message_count);

/// Reads so many compressed messages, and inflates them; the time is that of inflating alone.
cbc_result cbc_inflate(uint16_t port, uint64_t message_count);

/// Reads stamped messages with a blocking read; how long each took to get here, in nanoseconds.
///
/// Returns how many there were.
size_t cbc_latencies(uint16_t port, uint64_t *latencies, size_t capacity);

/// Wakes a thread that waits for a descriptor, so many times; how long it took, in nanoseconds.
size_t cbc_thread_wakes(uint64_t *latencies, size_t count);

/// Opens a connection, reads up to the first event with a delta, and closes it, so many times without TLS.
///
/// Returns how many went well.
size_t cbc_connections(uint16_t port, size_t count);

/// The clock that the server's stamps are of.
uint64_t cbc_moment(void);

/// The processor time of a thread of this process, in nanoseconds.
uint64_t cbc_thread_time(int thread);

#endif
