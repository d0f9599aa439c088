#define _GNU_SOURCE
#include "Reader.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool reader_fill(reader *reader) {
    ssize_t count = read(reader->descriptor, reader->bytes + reader->count, READER_CAPACITY - reader->count);
    if (count > 0) reader->count += (size_t)count;
    return count > 0;
}

void reader_drop(reader *reader, size_t count) {
    memmove(reader->bytes, reader->bytes + count, reader->count - count);
    reader->count -= count;
}

bool reader_send(reader *reader, const void *bytes, size_t count) {
    return write(reader->descriptor, bytes, count) == (ssize_t)count;
}

bool reader_open(reader *reader, uint16_t port) {
    static const char head[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    reader->count = 0;
    reader->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // As the package's transport does.
    setsockopt(reader->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(reader->descriptor, (struct sockaddr *)&address, sizeof address) != 0) return false;
    if (!reader_send(reader, head, sizeof head - 1)) return false;
    uint8_t *end;
    while (!(end = memmem(reader->bytes, reader->count, "\r\n\r\n", 4)))
        if (!reader_fill(reader)) return false;
    reader_drop(reader, (size_t)(end + 4 - reader->bytes));
    return true;
}

bool reader_ask(reader *reader) {
    // Of two bytes, masked with zeros.
    static const uint8_t request[] = {0x81, 0x82, 0, 0, 0, 0, '{', '}'};
    return reader_send(reader, request, sizeof request);
}

size_t reader_frame(const reader *reader, const uint8_t **payload, size_t *payload_count) {
    if (reader->count < 4) return 0;
    bool is_long = reader->bytes[1] == 126;
    size_t header = is_long ? 4 : 2;
    *payload = reader->bytes + header;
    *payload_count = is_long ? (size_t)reader->bytes[2] << 8 | reader->bytes[3] : reader->bytes[1];
    return reader->count < header + *payload_count ? 0 : header + *payload_count;
}
