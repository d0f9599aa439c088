// A connection to the benchmarks' server, by blocking calls.
#pragma once

#include "CBareClient.h"

#include <openssl/ssl.h>
#include <sys/types.h>

enum { BUFFER_SIZE = 64 << 10 };

// A connection whose response has begun. What came with the head of the answer stands in the buffer.
typedef struct {
    int descriptor;
    SSL_CTX *context;
    SSL *tls;
    uint8_t *buffer; // twice the size of a read, because a frame may begin in one and end in the next
    size_t count;
} channel;

// Gets a piece of a response, a message or what a chunk has in it; false when it has enough.
typedef bool (*handler)(void *state, uint8_t first_byte, const uint8_t *payload, size_t count);

bool open_channel(channel *channel, cbc_server server);
void close_channel(channel *channel);
ssize_t read_some(channel *channel, uint8_t *target, size_t room);
// Reads until the handler has enough; false when the connection ends before. `wire_count` gets the bytes of all frames
// that were handled, or is NULL.
bool read_pieces(channel *channel, cbc_server server, handler handle, void *state, uint64_t *wire_count);

// The clocks of a loop.
typedef struct {
    uint64_t processor, wall;
} moments;
moments start_clocks(void);
void stop_clocks(moments start, cbc_result *result);
