// What is sent, made once.
#include "Server.h"

#include "CStreamScript.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

size_t write_frame(uint8_t *target, uint8_t first_byte, const void *payload, size_t count) {
    size_t header = 2;
    target[0] = first_byte;
    if (count < 126) {
        target[1] = (uint8_t)count;
    } else {
        target[1] = 126;
        target[2] = (uint8_t)(count >> 8);
        target[3] = (uint8_t)count;
        header = 4;
    }
    memcpy(target + header, payload, count);
    return header + count;
}

static block text_frame(const char *text) {
    block made = {malloc(strlen(text) + 4), 0};
    made.count = write_frame(made.bytes, 0x81, text, strlen(text));
    return made;
}

// RFC 7692 section 7.2.1, with context takeover: each message ends with a sync flush whose last four bytes are left
// out. The first message of the block refers to nothing before it, so that blocks can follow each other.
static size_t compress_message(z_stream *stream, const uint8_t *message, size_t count, bool is_last, uint8_t *target) {
    uint8_t compressed[1024];
    stream->next_in = (Bytef *)message;
    stream->avail_in = (uInt)count;
    stream->next_out = compressed;
    stream->avail_out = sizeof compressed;
    deflate(stream, is_last ? Z_FULL_FLUSH : Z_SYNC_FLUSH);
    return write_frame(target, 0xC1, compressed, sizeof compressed - stream->avail_out - 4);
}

static block message_block(uint64_t count, bool compresses) {
    block made = {malloc((size_t)count * (CSS_MESSAGE_SIZE + 16)), 0};
    z_stream stream = {0};
    if (compresses) deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    for (uint64_t number = 0; number < count; number++) {
        uint8_t message[CSS_MESSAGE_SIZE];
        css_message(number, message);
        uint8_t *target = made.bytes + made.count;
        made.count += compresses
                          ? compress_message(&stream, message, sizeof message, number + 1 == count, target)
                          : write_frame(target, 0x81, message, sizeof message);
    }
    if (compresses) deflateEnd(&stream);
    return made;
}

script make_script(const options *options) {
    script made;
    made.start = text_frame(css_created());
    made.end = text_frame(css_completed());
    bool needs_messages = options->mode == MODE_FLOOD && options->message_count > 0;
    uint64_t count = options->message_count < CSS_BLOCK_COUNT ? options->message_count : CSS_BLOCK_COUNT;
    made.messages = message_block(needs_messages ? count : 0, options->compresses);
    made.first = message_block(1, false);
    return made;
}
