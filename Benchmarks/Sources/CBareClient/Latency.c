// A WebSocket read by blocking calls, frame by frame.
#define _GNU_SOURCE
#include "CBareClient.h"

#include "CStreamScript.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CAPACITY = 64 << 10 };

typedef struct {
    int descriptor;
    size_t count;
    uint8_t bytes[CAPACITY];
} reader;

uint64_t cbc_moment(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool read_more(reader *reader) {
    ssize_t count = read(reader->descriptor, reader->bytes + reader->count, CAPACITY - reader->count);
    if (count > 0) reader->count += (size_t)count;
    return count > 0;
}

static void drop(reader *reader, size_t count) {
    memmove(reader->bytes, reader->bytes + count, reader->count - count);
    reader->count -= count;
}

static bool send_all(reader *reader, const void *bytes, size_t count) {
    return write(reader->descriptor, bytes, count) == (ssize_t)count;
}

// Opens a WebSocket and requests a response.
static bool open_socket(reader *reader, uint16_t port) {
    static const char head[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    // A text message of two bytes, masked with zeros: the request.
    static const uint8_t request[] = {0x81, 0x82, 0, 0, 0, 0, '{', '}'};
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    reader->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(reader->descriptor, (struct sockaddr *)&address, sizeof address) != 0) return false;
    if (!send_all(reader, head, sizeof head - 1)) return false;
    uint8_t *end;
    while (!(end = memmem(reader->bytes, reader->count, "\r\n\r\n", 4)))
        if (!read_more(reader)) return false;
    drop(reader, (size_t)(end + 4 - reader->bytes));
    return send_all(reader, request, sizeof request);
}

// Finds the frame at the beginning of the buffer; returns its size with the header, 0 when it is incomplete.
static size_t frame(const reader *reader, const uint8_t **payload, size_t *payload_count) {
    if (reader->count < 4) return 0;
    bool is_long = reader->bytes[1] == 126;
    size_t header = is_long ? 4 : 2;
    *payload = reader->bytes + header;
    *payload_count = is_long ? (size_t)reader->bytes[2] << 8 | reader->bytes[3] : reader->bytes[1];
    return reader->count < header + *payload_count ? 0 : header + *payload_count;
}

size_t cbc_latencies(uint16_t port, uint64_t *latencies, size_t capacity) {
    static const char name[] = "\"delta\":\"";
    static reader reader;
    reader.count = 0;
    size_t count = 0;
    bool is_open = open_socket(&reader, port);
    while (is_open && count < capacity) {
        const uint8_t *payload;
        size_t payload_count, size;
        while ((size = frame(&reader, &payload, &payload_count)) > 0 && count < capacity) {
            uint64_t now = cbc_moment();
            const char *found = memmem(payload, payload_count, name, sizeof name - 1);
            uint64_t sent = found ? css_moment(found + sizeof name - 1, 19) : 0;
            if (sent > 0) latencies[count++] = now - sent;
            if (memmem(payload, payload_count, "response.completed", 18)) is_open = false;
            drop(&reader, size);
        }
        is_open = is_open && (count == capacity || read_more(&reader));
    }
    close(reader.descriptor);
    return count;
}
