// What the machine does with the same bytes at best: a loop around one system call, with no more in it than is needed
// to find the messages. No transport that reads them can cost less.
#ifndef CBARECLIENT_H
#define CBARECLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A `stream-server`, and how it is asked.
typedef struct {
    uint16_t port;
    /// By SSL_read instead of read, without looking at the server's certificate.
    bool is_secure;
    /// An event stream in place of a WebSocket.
    bool is_event_stream;
    /// Messages are compressed, or the body is; the server has to be one that does so.
    bool compresses;
} cbc_server;

/// What a loop has done.
typedef struct {
    bool is_complete;
    uint64_t message_count;
    /// Bytes of messages, or of what is in chunks, or of what was inflated.
    uint64_t byte_count;
    /// Bytes that came over the connection, within TLS, after the head of the answer.
    uint64_t wire_count;
    /// Processor time of the thread, after the head of the answer.
    double seconds;
    /// The same by the clock on the wall.
    double elapsed;
} cbc_result;

/// Reads until so many messages have come, or chunks of a body, and only looks at their headers.
cbc_result cbc_read(cbc_server server, uint64_t message_count);

/// Takes so many bytes and does nothing with them, as a reader that the server never waits for.
///
/// `is_copied`: they are read; otherwise the system throws them away, unless they are encrypted.
cbc_result cbc_drain(cbc_server server, uint64_t wire_count, bool is_copied);

/// Reads so many compressed messages, or a body of so many chunks, and inflates them; the time is that of inflating
/// alone.
cbc_result cbc_inflate(cbc_server server, uint64_t message_count);

/// Reads stamped messages with a blocking read; how long each took to get here, in nanoseconds.
///
/// Returns how many there were.
size_t cbc_latencies(uint16_t port, uint64_t *latencies, size_t capacity);

/// Wakes a thread that waits for a descriptor, so many times; how long it took, in nanoseconds.
size_t cbc_thread_wakes(uint64_t *latencies, size_t count);

/// Sends a message of 250 bytes over the loopback to a process on a core, and gets it back, so many times; how long
/// each took, in nanoseconds.
///
/// A negative core is any. Returns how many there were.
size_t cbc_round_trips(int core, uint64_t *durations, size_t count);

/// The clock that the server's stamps are of.
uint64_t cbc_moment(void);

/// The processor time of a thread of this process, in nanoseconds.
uint64_t cbc_thread_time(int thread);

#endif
