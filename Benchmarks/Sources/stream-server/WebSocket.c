// The opening handshake, and the frames of a client: its requests, its pings, its close.
#define _GNU_SOURCE
#include "Server.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
static const char deflate_name[] = "permessage-deflate";

// MARK: The opening handshake

// Whether an offer of permessage-deflate allows the messages as they were compressed, with context takeover and a
// window of 15 bits; `has_bits`: whether the response has to include server_max_window_bits (RFC 7692 section 7.1.2.1).
static bool accepts_offer(const char *offer, size_t count, bool *has_bits) {
    static const char bits[] = "server_max_window_bits", whole[] = "15";
    if (count < sizeof deflate_name - 1 || strncasecmp(offer, deflate_name, sizeof deflate_name - 1) != 0) return false;
    if (memmem(offer, count, "server_no_context_takeover", 26)) return false;
    const char *found = memmem(offer, count, bits, sizeof bits - 1);
    *has_bits = found != NULL;
    if (!found) return true;
    found += sizeof bits - 1;
    found += strspn(found, " =\"");
    return strncmp(found, whole, sizeof whole - 1) == 0;
}

// The field with the extension that is agreed on; empty when there is none.
static const char *agreed_extension(const char *head, const options *options) {
    size_t count;
    const char *value = options->deflates ? field_value(head, "sec-websocket-extensions", &count) : NULL;
    for (const char *end = value ? value + count : NULL; value && value < end;) {
        value += strspn(value, ", \t");
        size_t size = strcspn(value, ",\r");
        bool has_bits = false;
        if (accepts_offer(value, size, &has_bits))
            return has_bits ? "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=15\r\n"
                            : "Sec-WebSocket-Extensions: permessage-deflate\r\n";
        value += size;
    }
    return "";
}

void answer_upgrade(connection *connection, const char *head, const options *options) {
    size_t count;
    const char *key = field_value(head, "sec-websocket-key", &count);
    char text[256], accept[64], answer[512];
    uint8_t digest[SHA_DIGEST_LENGTH];
    int length = snprintf(text, sizeof text, "%.*s%s", count > 64 ? 64 : (int)count, key, guid);
    SHA1((const uint8_t *)text, (size_t)length, digest);
    EVP_EncodeBlock((uint8_t *)accept, digest, sizeof digest);
    const char *extension = agreed_extension(head, options);
    length = snprintf(
        answer, sizeof answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: %s\r\n%s\r\n",
        accept, extension);
    say(connection, answer, (size_t)length);
    connection->form = *extension ? FORM_WEBSOCKET_DEFLATE : FORM_WEBSOCKET;
    connection->state = STATE_REQUEST;
}

// MARK: Frames

// Splits the output after a frame, so that control frames can follow there.
//
// A TLS record whose write was tried must not become shorter; it has at most 16 KiB.
static void interrupt(connection *connection, const block *messages) {
    const uint8_t *start = messages->bytes, *end = start + messages->count, *position = start;
    if (connection->rest_count > 0 || connection->output < start || connection->output >= end) return;
    const uint8_t *earliest = connection->output + (16 << 10);
    while (position < end && position < earliest) {
        size_t count = position[1];
        position += count == 126 ? 4 + ((size_t)position[2] << 8 | position[3]) : 2 + count;
    }
    const uint8_t *stop = connection->output + connection->output_count;
    if (position >= stop) return;
    connection->rest = position;
    connection->rest_count = (size_t)(stop - position);
    connection->output_count -= connection->rest_count;
}

static void answer_control(
    connection *connection, uint8_t opcode, const uint8_t *payload, size_t count, const script *script) {
    // A client that sends pings faster than it reads gets fewer pongs.
    if (connection->control_count + count + 2 > CONTROL_SIZE) return;
    interrupt(connection, &script->messages);
    uint8_t *target = connection->control + connection->control_count;
    connection->control_count += write_frame(target, 0x80 | opcode, payload, count);
}

// Takes a complete message, which requests a response regardless of its content.
static void take_request(connection *connection) {
    if (connection->state == STATE_REQUEST) connection->state = STATE_STREAM;
    else connection->requested++;
}

static void take_control(
    connection *connection, uint8_t opcode, uint8_t *payload, size_t count, const script *script) {
    if (opcode == 0x9) answer_control(connection, 0xA, payload, count, script);
    if (opcode != 0x8) return;
    answer_control(connection, 0x8, payload, count < 2 ? 0 : 2, script);
    connection->says_goodbye = true;
    connection->rest_count = 0;
}

// Takes the header of a frame, and all of a control frame; false when it is incomplete.
static bool take_header(connection *connection, const script *script) {
    const uint8_t *input = connection->input;
    if (connection->input_count < 2) return false;
    uint64_t count = input[1] & 0x7F;
    size_t extended = count == 126 ? 2 : count == 127 ? 8 : 0;
    size_t header = 2 + extended + (input[1] & 0x80 ? 4 : 0);
    if (connection->input_count < header) return false;
    if (extended > 0) count = 0;
    for (size_t index = 0; index < extended; index++) count = count << 8 | input[2 + index];
    uint8_t opcode = input[0] & 0x0F;
    if (opcode & 0x8) {
        if (count > 125) count = 125;
        if (connection->input_count < header + count) return false;
        uint8_t *payload = connection->input + header;
        for (size_t index = 0; index < count && (input[1] & 0x80); index++) payload[index] ^= (payload - 4)[index % 4];
        take_control(connection, opcode, payload, (size_t)count, script);
        consume_input(connection, header + (size_t)count);
        return true;
    }
    connection->frame_remaining = count;
    connection->message_is_whole = input[0] & 0x80;
    consume_input(connection, header);
    if (count == 0 && connection->message_is_whole) take_request(connection);
    return true;
}

// Takes the received part of a client's frames; false when it needs more.
bool take_frames(connection *connection, const script *script) {
    if (connection->frame_remaining == 0) return take_header(connection, script);
    uint64_t remaining = connection->frame_remaining;
    size_t count = connection->input_count < remaining ? connection->input_count : (size_t)remaining;
    if (count == 0) return false;
    connection->frame_remaining -= count;
    consume_input(connection, count);
    if (connection->frame_remaining == 0 && connection->message_is_whole) take_request(connection);
    return true;
}
