#define _GNU_SOURCE
#include "Channel.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t cbc_moment(void) { return nanoseconds(CLOCK_MONOTONIC); }

uint64_t cbc_thread_time(int thread) {
    // How Linux names a thread's processor time, which the C library only does for threads it has started.
    return nanoseconds((clockid_t)((~(unsigned)thread << 3) | 6));
}

moments start_clocks(void) { return (moments){nanoseconds(CLOCK_THREAD_CPUTIME_ID), cbc_moment()}; }

void stop_clocks(moments start, cbc_result *result) {
    result->elapsed = (double)(cbc_moment() - start.wall) / 1e9;
    result->seconds = (double)(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start.processor) / 1e9;
}

ssize_t read_some(channel *channel, uint8_t *target, size_t room) {
    return channel->tls ? SSL_read(channel->tls, target, (int)room) : read(channel->descriptor, target, room);
}

static bool write_all(channel *channel, const void *bytes, size_t count) {
    return channel->tls ? SSL_write(channel->tls, bytes, (int)count) == (int)count
                        : write(channel->descriptor, bytes, count) == (ssize_t)count;
}

static bool connect_channel(channel *channel, cbc_server server) {
    channel->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(server.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(channel->descriptor, (struct sockaddr *)&address, sizeof address) != 0) return false;
    if (!server.is_secure) return true;
    channel->context = SSL_CTX_new(TLS_client_method());
    channel->tls = SSL_new(channel->context);
    SSL_set_fd(channel->tls, channel->descriptor);
    return SSL_connect(channel->tls) == 1;
}

static bool ask(channel *channel, cbc_server server) {
    char head[512];
    const char *offer = !server.compresses         ? ""
                        : server.is_event_stream ? "Accept-Encoding: gzip\r\n"
                                                 : "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    const char *upgrade = server.is_event_stream
                              ? ""
                              : "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    int length =
        snprintf(head, sizeof head, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n%s%s\r\n", upgrade, offer);
    return write_all(channel, head, (size_t)length);
}

bool open_channel(channel *channel, cbc_server server) {
    memset(channel, 0, sizeof *channel);
    channel->buffer = malloc(2 * BUFFER_SIZE);
    if (!connect_channel(channel, server) || !ask(channel, server)) return false;
    uint8_t *end = NULL;
    while (!end) {
        ssize_t count = read_some(channel, channel->buffer + channel->count, BUFFER_SIZE - channel->count);
        if (count <= 0) return false;
        channel->count += (size_t)count;
        end = memmem(channel->buffer, channel->count, "\r\n\r\n", 4);
    }
    size_t used = (size_t)(end + 4 - channel->buffer);
    memmove(channel->buffer, channel->buffer + used, channel->count - used);
    channel->count -= used;
    // A text message of two bytes, masked with zeros: the request.
    static const uint8_t request[] = {0x81, 0x82, 0, 0, 0, 0, '{', '}'};
    return server.is_event_stream || write_all(channel, request, sizeof request);
}

void close_channel(channel *channel) {
    SSL_free(channel->tls);
    SSL_CTX_free(channel->context);
    close(channel->descriptor);
    free(channel->buffer);
}

// MARK: Pieces

// The frame at the beginning of some bytes: its payload and how many bytes it has in all; 0 when it is not whole.
static size_t frame(const uint8_t *bytes, size_t count, const uint8_t **payload, size_t *payload_count) {
    if (count < 2) return 0;
    size_t length = bytes[1], header = 2;
    if (length == 126) {
        if (count < 4) return 0;
        length = (size_t)bytes[2] << 8 | bytes[3];
        header = 4;
    }
    *payload = bytes + header;
    *payload_count = length;
    return count - header < length ? 0 : header + length;
}

// The same of a chunk (RFC 9112 section 7.1); the server writes its size in small letters.
static size_t chunk(const uint8_t *bytes, size_t count, const uint8_t **payload, size_t *payload_count) {
    size_t length = 0, header = 0;
    while (header < count && bytes[header] != '\r') {
        uint8_t digit = bytes[header++];
        length = length << 4 | (digit <= '9' ? (size_t)digit - '0' : (size_t)digit - 'a' + 10);
    }
    header += 2;
    *payload = bytes + header;
    *payload_count = length;
    return count < header + length + 2 ? 0 : header + length + 2;
}

bool read_pieces(channel *channel, cbc_server server, handler handle, void *state, uint64_t *wire_count) {
    size_t filled = channel->count;
    while (true) {
        size_t position = 0, size, count;
        const uint8_t *payload;
        while (true) {
            uint8_t *next = channel->buffer + position;
            size = server.is_event_stream ? chunk(next, filled - position, &payload, &count)
                                          : frame(next, filled - position, &payload, &count);
            if (size == 0) break;
            position += size;
            if (handle(state, *next, payload, count)) continue;
            if (wire_count) *wire_count += position;
            return true;
        }
        if (wire_count) *wire_count += position;
        memmove(channel->buffer, channel->buffer + position, filled - position);
        filled -= position;
        ssize_t more = read_some(channel, channel->buffer + filled, BUFFER_SIZE);
        if (more <= 0) return false;
        filled += (size_t)more;
    }
}
