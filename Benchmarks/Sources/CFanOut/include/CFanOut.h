// One stream of a server of models, and its viewers: the server, a bare fan-out of the same bytes, and the viewers.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The shape of a stream: so many texts, with so many microseconds between two. Each has the time at which it was sent.
typedef struct {
    unsigned count;
    unsigned interval;
} cfo_stream;

// Serves Chat Completions on loopback: every request is answered with the stream, which begins `delay` microseconds
// later. Writes "port N" to standard output, and ends with the process.
int cfo_serve_upstream(cfo_stream stream, unsigned delay);

// Writes the stream, as events for an EventSource, to so many viewers, as soon as all are there; then ends. It has one
// thread and one write for each viewer and event.
int cfo_serve_bare(cfo_stream stream, unsigned viewers);

// Starts a stream at a relay, and writes its path; 0 when it has failed.
int cfo_start_stream(uint16_t port, char *path, size_t capacity);

// Opens so many viewers, reads all to their ends, and writes the nanoseconds from the sending of each text to its
// arrival at each viewer. Returns their number. `before` is the processor time that the server had used when the first
// one came.
size_t cfo_view(
    uint16_t port, const char *path, unsigned viewers, pid_t server, uint64_t *before, uint64_t *latencies,
    size_t capacity);

// The nanoseconds of processor time that another process has used; 0 when it is gone.
uint64_t cfo_processor_time(pid_t process);

// Lets this process, and those that it starts, have as many descriptors as it may.
void cfo_raise_descriptor_limit(void);
