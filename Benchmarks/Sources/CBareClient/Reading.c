// Loops around read, SSL_read and inflate.
#define _GNU_SOURCE
#include "Channel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <zlib.h>

typedef struct {
    cbc_result result;
    uint64_t wanted;
} counting;

static bool count_message(void *state, uint8_t first_byte, const uint8_t *payload, size_t count) {
    (void)first_byte;
    (void)payload;
    counting *counting = state;
    counting->result.byte_count += count;
    return ++counting->result.message_count < counting->wanted;
}

cbc_result cbc_read(cbc_server server, uint64_t message_count) {
    counting counting = {.wanted = message_count};
    channel channel;
    if (open_channel(&channel, server)) {
        moments start = start_clocks();
        counting.result.is_complete =
            read_pieces(&channel, server, count_message, &counting, &counting.result.wire_count);
        stop_clocks(start, &counting.result);
    }
    close_channel(&channel);
    return counting.result;
}

// Reads, or has the system throw away, as much as there is.
static ssize_t drop_some(channel *channel, uint64_t wanted, bool is_copied) {
    size_t room = wanted < 2 * BUFFER_SIZE ? (size_t)wanted : 2 * BUFFER_SIZE;
    if (channel->tls || is_copied) return read_some(channel, channel->buffer, room);
    // TCP drops what it would have copied.
    return recv(channel->descriptor, channel->buffer, wanted < 1 << 20 ? (size_t)wanted : 1 << 20, MSG_TRUNC);
}

cbc_result cbc_drain(cbc_server server, uint64_t wire_count, bool is_copied) {
    cbc_result result = {0};
    channel channel;
    if (open_channel(&channel, server)) {
        moments start = start_clocks();
        result.wire_count = channel.count;
        ssize_t count = 1;
        while (result.wire_count < wire_count && count > 0) {
            count = drop_some(&channel, wire_count - result.wire_count, is_copied);
            if (count > 0) result.wire_count += (uint64_t)count;
        }
        stop_clocks(start, &result);
        result.is_complete = result.wire_count == wire_count;
    }
    close_channel(&channel);
    return result;
}

// MARK: Inflating

typedef struct {
    uint8_t *bytes; // of compressed messages each its length in two bytes, and itself with the tail of RFC 7692
    size_t count, capacity;
    uint64_t message_count, wanted;
    bool is_event_stream; // then a body without lengths
} collection;

static void collect(collection *collection, const void *bytes, size_t count) {
    if (collection->capacity < collection->count + count) {
        collection->capacity = 2 * collection->capacity + (1 << 20);
        collection->bytes = realloc(collection->bytes, collection->capacity);
    }
    memcpy(collection->bytes + collection->count, bytes, count);
    collection->count += count;
}

static bool collect_message(void *state, uint8_t first_byte, const uint8_t *payload, size_t count) {
    static const uint8_t tail[] = {0, 0, 0xFF, 0xFF};
    collection *collection = state;
    collection->message_count++;
    if (collection->is_event_stream) {
        collect(collection, payload, count);
    } else if (first_byte & 0x40) {
        uint16_t length = (uint16_t)(count + sizeof tail);
        collect(collection, &length, sizeof length);
        collect(collection, payload, count);
        collect(collection, tail, sizeof tail);
    }
    return collection->message_count < collection->wanted;
}

static void inflate_messages(const collection *collection, z_stream *stream, uint8_t *output, cbc_result *result) {
    inflateInit2(stream, -15);
    for (size_t position = 0; position < collection->count; result->message_count++) {
        uint16_t length;
        memcpy(&length, collection->bytes + position, 2);
        stream->next_in = collection->bytes + position + 2;
        stream->avail_in = length;
        stream->next_out = output;
        stream->avail_out = BUFFER_SIZE;
        result->is_complete =
            result->is_complete && inflate(stream, Z_SYNC_FLUSH) == Z_OK && stream->avail_in == 0;
        result->byte_count += BUFFER_SIZE - stream->avail_out;
        position += 2 + length;
    }
}

// A body of gzip, in pieces as large as a buffer.
static void inflate_body(const collection *collection, z_stream *stream, uint8_t *output, cbc_result *result) {
    inflateInit2(stream, 15 + 16);
    stream->next_in = collection->bytes;
    stream->avail_in = (uInt)collection->count;
    int status = Z_OK;
    while (status == Z_OK) {
        stream->next_out = output;
        stream->avail_out = BUFFER_SIZE;
        status = inflate(stream, Z_NO_FLUSH);
        result->byte_count += BUFFER_SIZE - stream->avail_out;
    }
    // Its checksum was right, too.
    result->is_complete = status == Z_STREAM_END && stream->avail_in == 0;
    result->message_count = collection->message_count;
}

static cbc_result inflate_all(const collection *collection) {
    cbc_result result = {.is_complete = true, .wire_count = collection->count};
    uint8_t *output = malloc(BUFFER_SIZE);
    z_stream stream = {0};
    moments start = start_clocks();
    if (collection->is_event_stream) inflate_body(collection, &stream, output, &result);
    else inflate_messages(collection, &stream, output, &result);
    stop_clocks(start, &result);
    inflateEnd(&stream);
    free(output);
    return result;
}

cbc_result cbc_inflate(cbc_server server, uint64_t message_count) {
    // A body has its trailer and its last chunk behind the events.
    collection collection = {
        .wanted = message_count + (server.is_event_stream ? 1 : 0), .is_event_stream = server.is_event_stream};
    cbc_result result = {0};
    channel channel;
    server.compresses = true;
    if (open_channel(&channel, server) && read_pieces(&channel, server, collect_message, &collection, NULL))
        result = inflate_all(&collection);
    close_channel(&channel);
    free(collection.bytes);
    return result;
}
