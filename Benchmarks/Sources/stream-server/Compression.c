// The responses, compressed once: event by event, each flushed, as by a service that has one event at a time.
#include "Server.h"

#include "CStreamScript.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { COMPRESSED_SIZE = 2048 };

static uint64_t block_count(const options *options) {
    if (options->mode != MODE_FLOOD) return 0;
    return options->message_count < CSS_BLOCK_COUNT ? options->message_count : CSS_BLOCK_COUNT;
}

static void begin(z_stream *stream) {
    memset(stream, 0, sizeof *stream);
    deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
}

static size_t compress_with(z_stream *stream, int how, const void *bytes, size_t count, uint8_t *target) {
    stream->next_in = (Bytef *)bytes;
    stream->avail_in = (uInt)count;
    stream->next_out = target;
    stream->avail_out = COMPRESSED_SIZE;
    deflate(stream, how);
    return COMPRESSED_SIZE - stream->avail_out;
}

// MARK: WebSocket

// RFC 7692 section 7.2.1, with context takeover: each message ends with a sync flush whose last four bytes are left
// out. The first message of the block refers to nothing before it, so that blocks can follow each other; the events at
// the edges are not compressed.
static block deflated_messages(uint64_t count, uint64_t pause_after) {
    block made = {malloc((size_t)count * (CSS_MESSAGE_SIZE + FORM_OVERHEAD)), 0, 0};
    z_stream stream;
    begin(&stream);
    for (uint64_t number = 0; number < count; number++) {
        if (number == pause_after) made.pause = made.count;
        uint8_t message[CSS_MESSAGE_SIZE], compressed[COMPRESSED_SIZE];
        css_message(number, message);
        int how = number + 1 == count ? Z_FULL_FLUSH : Z_SYNC_FLUSH;
        size_t size = compress_with(&stream, how, message, sizeof message, compressed);
        made.count += write_frame(made.bytes + made.count, 0xC1, compressed, size - 4);
    }
    deflateEnd(&stream);
    return made;
}

static block frame_of(const char *text) {
    block made = {malloc(strlen(text) + FORM_OVERHEAD), 0, 0};
    made.count = write_frame(made.bytes, 0x81, text, strlen(text));
    return made;
}

script make_deflated(const options *options) {
    return (script){
        .start = frame_of(css_created()),
        .messages = deflated_messages(block_count(options), options->pause_after),
        .first = deflated_messages(1, 0),
        .end = frame_of(css_completed()),
    };
}

// MARK: Event stream

static void add_chunk(block *target, const uint8_t *bytes, size_t count) {
    target->count += (size_t)sprintf((char *)target->bytes + target->count, "%zx\r\n", count);
    memcpy(target->bytes + target->count, bytes, count);
    target->count += count;
    memcpy(target->bytes + target->count, "\r\n", 2);
    target->count += 2;
}

// The checksum and the size of a piece of the stream before compression.
typedef struct {
    uLong checksum;
    uint64_t byte_count;
} clear;

// Each piece begins with an empty window, so that blocks can follow each other.
static block gzipped_deltas(uint64_t count, uint64_t pause_after, clear *clear) {
    block made = {malloc((size_t)count * (CSS_MESSAGE_SIZE + FORM_OVERHEAD)), 0, 0};
    z_stream stream;
    begin(&stream);
    for (uint64_t number = 0; number < count; number++) {
        if (number == pause_after) made.pause = made.count;
        uint8_t message[CSS_MESSAGE_SIZE], event[1024], compressed[COMPRESSED_SIZE];
        css_message(number, message);
        size_t size = css_stream_event(event, css_delta_type(), message, sizeof message);
        clear->checksum = crc32(clear->checksum, event, (uInt)size);
        clear->byte_count += size;
        int how = number + 1 == count ? Z_FULL_FLUSH : Z_SYNC_FLUSH;
        size = compress_with(&stream, how, event, size, compressed);
        add_chunk(&made, compressed, size);
    }
    deflateEnd(&stream);
    return made;
}

static block gzipped_edge(const char *type, const char *message, int how, const uint8_t *head, size_t head_count,
                          clear *clear) {
    uint8_t event[1024], bytes[COMPRESSED_SIZE + 16];
    size_t count = css_stream_event(event, type, message, strlen(message));
    clear->checksum = crc32(clear->checksum, event, (uInt)count);
    clear->byte_count += count;
    memcpy(bytes, head, head_count);
    z_stream stream;
    begin(&stream);
    size_t size = compress_with(&stream, how, event, count, bytes + head_count);
    deflateEnd(&stream);
    block made = {malloc(COMPRESSED_SIZE + FORM_OVERHEAD), 0, 0};
    add_chunk(&made, bytes, head_count + size);
    return made;
}

// RFC 1952 section 2.3.1: the checksum and the size of all that was compressed.
static void add_trailer(block *end, clear whole) {
    static const char last_chunk[] = "0\r\n\r\n";
    uint8_t trailer[8];
    for (int index = 0; index < 4; index++) {
        trailer[index] = (uint8_t)(whole.checksum >> (8 * index));
        trailer[4 + index] = (uint8_t)(whole.byte_count >> (8 * index));
    }
    add_chunk(end, trailer, sizeof trailer);
    memcpy(end->bytes + end->count, last_chunk, sizeof last_chunk - 1);
    end->count += sizeof last_chunk - 1;
}

static clear joined(clear first, clear second) {
    uLong checksum = crc32_combine(first.checksum, second.checksum, (z_off_t)second.byte_count);
    return (clear){checksum, first.byte_count + second.byte_count};
}

script make_gzipped(const options *options) {
    static const uint8_t head[] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF};
    clear start = {0}, deltas = {0}, first = {0}, end = {0};
    uint64_t count = block_count(options);
    script made = {
        .start = gzipped_edge(css_created_type(), css_created(), Z_FULL_FLUSH, head, sizeof head, &start),
        .messages = gzipped_deltas(count, options->pause_after, &deltas),
        .first = gzipped_deltas(1, 0, &first),
        .end = gzipped_edge(css_completed_type(), css_completed(), Z_FINISH, NULL, 0, &end),
    };
    clear whole = start;
    for (uint64_t sent = 0; count > 0 && sent < options->message_count; sent += count) whole = joined(whole, deltas);
    add_trailer(&made.end, joined(whole, end));
    return made;
}
