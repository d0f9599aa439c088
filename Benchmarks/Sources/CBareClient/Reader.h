// A WebSocket over a blocking socket, and the bytes that have come.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READER_CAPACITY = 64 << 10 };

typedef struct {
    int descriptor;
    size_t count;
    uint8_t bytes[READER_CAPACITY];
} reader;

// Opens a WebSocket to a server on loopback.
bool reader_open(reader *reader, uint16_t port);

// Sends a text message, which requests a response.
bool reader_ask(reader *reader);

// Reads what has arrived, and waits until there is some; false when the connection has ended.
bool reader_fill(reader *reader);

// Finds the frame at the beginning of the buffer; returns its size with the header, 0 when it is incomplete.
size_t reader_frame(const reader *reader, const uint8_t **payload, size_t *payload_count);

// Removes the first bytes.
void reader_drop(reader *reader, size_t count);

// Writes all bytes.
bool reader_send(reader *reader, const void *bytes, size_t count);
