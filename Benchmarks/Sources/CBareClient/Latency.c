// A WebSocket read by blocking calls, frame by frame.
#define _GNU_SOURCE
#include "CBareClient.h"
#include "CStreamScript.h"
#include "Reader.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t cbc_moment(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

size_t cbc_latencies(uint16_t port, uint64_t *latencies, size_t capacity) {
    static const char name[] = "\"delta\":\"";
    static reader reader;
    size_t count = 0;
    bool is_open = reader_open(&reader, port) && reader_ask(&reader);
    while (is_open && count < capacity) {
        const uint8_t *payload;
        size_t payload_count, size;
        while ((size = reader_frame(&reader, &payload, &payload_count)) > 0 && count < capacity) {
            uint64_t now = cbc_moment();
            const char *found = memmem(payload, payload_count, name, sizeof name - 1);
            uint64_t sent = found ? css_moment(found + sizeof name - 1, 19) : 0;
            if (sent > 0) latencies[count++] = now - sent;
            if (memmem(payload, payload_count, "response.completed", 18)) is_open = false;
            reader_drop(&reader, size);
        }
        is_open = is_open && (count == capacity || reader_fill(&reader));
    }
    close(reader.descriptor);
    return count;
}
