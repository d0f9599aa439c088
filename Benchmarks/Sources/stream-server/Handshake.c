// The opening handshake, and the frames of a client: its request, its pings, its close.
#include "Server.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

// The value of a field, or NULL.
static const char *field(const char *head, const char *name) {
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, strlen(name)) == 0 && line[2 + strlen(name)] == ':')
            return line + 3 + strlen(name) + strspn(line + 3 + strlen(name), " ");
    return NULL;
}

// Puts the answer into `small`, when the head is whole; false when it is no upgrade.
bool answer_upgrade(connection *connection, const options *options) {
    connection->input[connection->input_count] = 0;
    char *head = (char *)connection->input, *end = strstr(head, "\r\n\r\n");
    if (!end) return connection->input_count < sizeof connection->input - 1;
    const char *key = field(head, "sec-websocket-key");
    if (!key) return false;
    char text[128], accept[64];
    uint8_t digest[SHA_DIGEST_LENGTH];
    int count = snprintf(text, sizeof text, "%.*s%s", (int)strcspn(key, "\r"), key, guid);
    SHA1((const uint8_t *)text, (size_t)count, digest);
    EVP_EncodeBlock((uint8_t *)accept, digest, sizeof digest);
    connection->small_count = (size_t)snprintf(
        (char *)connection->small, sizeof connection->small,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: %s\r\n%s\r\n",
        accept, options->compresses ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "");
    connection->output = connection->small;
    connection->output_count = connection->small_count;
    connection->state = STATE_REQUEST;
    size_t used = (size_t)(end + 4 - head);
    memmove(connection->input, connection->input + used, connection->input_count - used);
    connection->input_count -= used;
    return true;
}

static void answer_control(connection *connection, uint8_t opcode, const uint8_t *payload, size_t count) {
    // Behind what is being written; when that is not `small` itself, the client waits for its pong.
    if (connection->output_count > 0 || count > 125) return;
    connection->small_count = write_frame(connection->small, 0x80 | opcode, payload, count);
    connection->output = connection->small;
    connection->output_count = connection->small_count;
}

// Takes whole frames out of the input; false after a close, or when one is too large.
bool take_frames(connection *connection) {
    uint8_t *input = connection->input;
    size_t position = 0;
    bool is_open = true;
    while (is_open && connection->input_count - position >= 6) {
        uint8_t *frame = input + position, *mask = frame + 2;
        size_t count = frame[1] & 0x7F;
        if (count == 126) {
            count = (size_t)frame[2] << 8 | frame[3];
            mask = frame + 4;
        } else if (count == 127) {
            return false;
        }
        uint8_t *payload = mask + 4;
        if ((size_t)(payload - input) + count > connection->input_count) break;
        for (size_t index = 0; index < count; index++) payload[index] ^= mask[index % 4];
        switch (frame[0] & 0x0F) {
        case 0x1:
            if (connection->state == STATE_REQUEST) connection->state = STATE_STREAM;
            break;
        case 0x8:
            is_open = false;
            break;
        case 0x9:
            answer_control(connection, 0xA, payload, count);
            break;
        default:
            break;
        }
        position = (size_t)(payload - input) + count;
    }
    memmove(input, input + position, connection->input_count - position);
    connection->input_count -= position;
    return is_open && connection->input_count < sizeof connection->input - 1;
}
