// Messages that are dropped: a client sends them as fast as it can, and asks for their counts.
#include "Server.h"

#include "CStreamScript.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

// The size of a read: so large that this side is not the slower one.
enum { READ_SIZE = 256 << 10 };

// Counts the bytes of a payload that are not those of css_upload.
static void compare(dropped *dropped, const uint8_t *bytes, size_t count) {
    static uint8_t expected[CSS_UPLOAD_SIZE];
    if (expected[1] == 0) css_upload(expected);
    // The masking key from this byte of the message on (RFC 6455 section 5.3), twice.
    uint8_t key[8];
    for (size_t index = 0; index < sizeof key; index++) key[index] = dropped->key[(dropped->position + index) % 4];
    size_t known = dropped->position < CSS_UPLOAD_SIZE ? CSS_UPLOAD_SIZE - dropped->position : 0;
    if (known > count) known = count;
    const uint8_t *wanted = expected + dropped->position;
    uint64_t mask, difference = 0;
    memcpy(&mask, key, sizeof mask);
    size_t index = 0;
    for (; index + sizeof mask <= known; index += sizeof mask) {
        uint64_t word, wanted_word;
        memcpy(&word, bytes + index, sizeof word);
        memcpy(&wanted_word, wanted + index, sizeof wanted_word);
        difference |= word ^ mask ^ wanted_word;
    }
    for (; index < known; index++) difference |= bytes[index] ^ key[index % 4] ^ wanted[index];
    if (difference != 0 || known < count) dropped->is_wrong = true;
    dropped->position += count;
}

static void answer(connection *connection) {
    dropped *dropped = &connection->dropped;
    char text[64];
    uint8_t frame[sizeof text + FORM_OVERHEAD];
    int count = snprintf(
        text, sizeof text, "%llu %llu", (unsigned long long)dropped->message_count,
        (unsigned long long)dropped->wrong_count);
    say(connection, frame, write_frame(frame, 0x81, text, (size_t)count));
    dropped->message_count = dropped->wrong_count = 0;
}

static void end_message(connection *connection) {
    dropped *dropped = &connection->dropped;
    if (dropped->is_text) {
        answer(connection);
        return;
    }
    dropped->message_count++;
    if (dropped->is_wrong || dropped->position != CSS_UPLOAD_SIZE) dropped->wrong_count++;
}

// Takes a header when it is whole; false when the frame is none of a message.
static bool take_header(connection *connection) {
    dropped *dropped = &connection->dropped;
    const uint8_t *header = dropped->header;
    size_t extended = (header[1] & 0x7F) == 126 ? 2 : (header[1] & 0x7F) == 127 ? 8 : 0;
    if (dropped->header_count < 2 || dropped->header_count < 2 + extended + sizeof dropped->key) return true;
    // A message in one frame, masked: neither control frames nor fragments.
    bool is_text = header[0] == 0x81;
    if ((!is_text && header[0] != 0x82) || !(header[1] & 0x80)) return false;
    dropped->remaining = extended > 0 ? 0 : header[1] & 0x7F;
    for (size_t index = 0; index < extended; index++) dropped->remaining = dropped->remaining << 8 | header[2 + index];
    memcpy(dropped->key, header + 2 + extended, sizeof dropped->key);
    dropped->is_text = is_text;
    dropped->is_wrong = false;
    dropped->position = 0;
    dropped->header_count = 0;
    if (dropped->remaining == 0) end_message(connection);
    return true;
}

static bool take(connection *connection, const uint8_t *bytes, size_t count) {
    dropped *dropped = &connection->dropped;
    while (count > 0) {
        if (dropped->remaining == 0) {
            dropped->header[dropped->header_count++] = *bytes++;
            count--;
            if (!take_header(connection)) return false;
            continue;
        }
        size_t part = count < dropped->remaining ? count : (size_t)dropped->remaining;
        if (!dropped->is_text) compare(dropped, bytes, part);
        bytes += part;
        count -= part;
        dropped->remaining -= part;
        if (dropped->remaining == 0) end_message(connection);
    }
    return true;
}

bool drop_messages(connection *connection) {
    static uint8_t bytes[READ_SIZE];
    while (true) {
        ssize_t count = recv(connection->descriptor, bytes, sizeof bytes, 0);
        if (count <= 0) return count < 0 && errno == EAGAIN;
        if (!take(connection, bytes, (size_t)count)) return false;
    }
}
