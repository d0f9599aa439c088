#define _GNU_SOURCE
#include "CBareClient.h"

#include "CStreamScript.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_SIZE = 64 << 10 };

// A connection after the answer to its upgrade. What came with the answer stands in the buffer.
typedef struct {
    int descriptor;
    SSL_CTX *context;
    SSL *tls;
    uint8_t *buffer; // twice the size of a read, because a frame may begin in one and end in the next
    size_t count;
} channel;

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

static ssize_t read_some(channel *channel, uint8_t *target, size_t room) {
    return channel->tls ? SSL_read(channel->tls, target, (int)room) : read(channel->descriptor, target, room);
}

static bool write_all(channel *channel, const void *bytes, size_t count) {
    return channel->tls ? SSL_write(channel->tls, bytes, (int)count) == (int)count
                        : write(channel->descriptor, bytes, count) == (ssize_t)count;
}

static bool open_channel(channel *channel, uint16_t port, bool is_secure, bool compresses) {
    memset(channel, 0, sizeof *channel);
    channel->buffer = malloc(2 * BUFFER_SIZE);
    channel->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(channel->descriptor, (struct sockaddr *)&address, sizeof address) != 0) return false;
    if (is_secure) {
        channel->context = SSL_CTX_new(TLS_client_method());
        channel->tls = SSL_new(channel->context);
        SSL_set_fd(channel->tls, channel->descriptor);
        if (SSL_connect(channel->tls) != 1) return false;
    }
    const char *extension = compresses ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "";
    char head[512];
    int length = snprintf(
        head, sizeof head,
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
        extension);
    if (!write_all(channel, head, (size_t)length)) return false;
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
    return write_all(channel, request, sizeof request);
}

static void close_channel(channel *channel) {
    SSL_free(channel->tls);
    SSL_CTX_free(channel->context);
    close(channel->descriptor);
    free(channel->buffer);
}

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

typedef bool (*handler)(void *state, uint8_t first_byte, const uint8_t *payload, size_t count);

// Reads until the handler has enough; false when the connection ends before.
static bool read_frames(channel *channel, handler handle, void *state) {
    size_t filled = channel->count;
    while (true) {
        size_t position = 0, size, count;
        const uint8_t *payload;
        while ((size = frame(channel->buffer + position, filled - position, &payload, &count)) > 0) {
            if (!handle(state, channel->buffer[position], payload, count)) return true;
            position += size;
        }
        memmove(channel->buffer, channel->buffer + position, filled - position);
        filled -= position;
        ssize_t more = read_some(channel, channel->buffer + filled, BUFFER_SIZE);
        if (more <= 0) return false;
        filled += (size_t)more;
    }
}

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

cbc_result cbc_read(uint16_t port, bool is_secure, uint64_t message_count) {
    counting counting = {.wanted = message_count};
    channel channel;
    if (open_channel(&channel, port, is_secure, false)) {
        uint64_t start = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
        counting.result.is_complete = read_frames(&channel, count_message, &counting);
        counting.result.seconds = (double)(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start) / 1e9;
    }
    close_channel(&channel);
    return counting.result;
}

// MARK: Inflating

typedef struct {
    uint8_t *bytes; // for each compressed message its length in two bytes, and itself with the tail of RFC 7692
    size_t count, capacity;
    uint64_t message_count, wanted;
} collection;

static bool collect_message(void *state, uint8_t first_byte, const uint8_t *payload, size_t count) {
    static const uint8_t tail[] = {0, 0, 0xFF, 0xFF};
    collection *collection = state;
    collection->message_count++;
    if (first_byte & 0x40) {
        size_t length = count + sizeof tail;
        if (collection->capacity < collection->count + 2 + length) {
            collection->capacity = 2 * collection->capacity + (1 << 20);
            collection->bytes = realloc(collection->bytes, collection->capacity);
        }
        uint8_t *target = collection->bytes + collection->count;
        memcpy(target, &(uint16_t){(uint16_t)length}, 2);
        memcpy(target + 2, payload, count);
        memcpy(target + 2 + count, tail, sizeof tail);
        collection->count += 2 + length;
    }
    return collection->message_count < collection->wanted;
}

static cbc_result inflate_all(const collection *collection) {
    cbc_result result = {.is_complete = true};
    uint8_t *output = malloc(BUFFER_SIZE);
    z_stream stream = {0};
    inflateInit2(&stream, -15);
    uint64_t start = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    for (size_t position = 0; position < collection->count; result.message_count++) {
        uint16_t length;
        memcpy(&length, collection->bytes + position, 2);
        stream.next_in = collection->bytes + position + 2;
        stream.avail_in = length;
        stream.next_out = output;
        stream.avail_out = BUFFER_SIZE;
        result.is_complete = result.is_complete && inflate(&stream, Z_SYNC_FLUSH) == Z_OK && stream.avail_in == 0;
        result.byte_count += BUFFER_SIZE - stream.avail_out;
        position += 2 + length;
    }
    result.seconds = (double)(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start) / 1e9;
    inflateEnd(&stream);
    free(output);
    return result;
}

cbc_result cbc_inflate(uint16_t port, uint64_t message_count) {
    collection collection = {.wanted = message_count};
    cbc_result result = {0};
    channel channel;
    if (open_channel(&channel, port, false, true) && read_frames(&channel, collect_message, &collection))
        result = inflate_all(&collection);
    close_channel(&channel);
    free(collection.bytes);
    return result;
}

// MARK: Latency

typedef struct {
    uint64_t *latencies;
    size_t count, capacity;
} stamps;

static bool note_stamp(void *state, uint8_t first_byte, const uint8_t *payload, size_t count) {
    (void)first_byte;
    static const char name[] = "\"delta\":\"";
    stamps *stamps = state;
    uint64_t now = cbc_moment();
    const char *found = memmem(payload, count, name, sizeof name - 1);
    uint64_t sent = found ? css_moment(found + sizeof name - 1, 19) : 0;
    if (sent > 0 && stamps->count < stamps->capacity) stamps->latencies[stamps->count++] = now - sent;
    return stamps->count < stamps->capacity && !memmem(payload, count, "response.completed", 18);
}

size_t cbc_latencies(uint16_t port, uint64_t *latencies, size_t capacity) {
    stamps stamps = {.latencies = latencies, .capacity = capacity};
    channel channel;
    if (open_channel(&channel, port, false, false)) read_frames(&channel, note_stamp, &stamps);
    close_channel(&channel);
    return stamps.count;
}

typedef struct {
    int descriptor;
    uint64_t *latencies;
    size_t count;
} sleeper;

static void *wake_up(void *argument) {
    sleeper *sleeper = argument;
    for (size_t index = 0; index < sleeper->count; index++) {
        struct pollfd ready = {.fd = sleeper->descriptor, .events = POLLIN};
        poll(&ready, 1, -1);
        uint64_t sent;
        if (read(sleeper->descriptor, &sent, sizeof sent) == sizeof sent)
            sleeper->latencies[index] = cbc_moment() - sent;
    }
    return NULL;
}

size_t cbc_thread_wakes(uint64_t *latencies, size_t count) {
    sleeper sleeper = {.descriptor = eventfd(0, EFD_CLOEXEC), .latencies = latencies, .count = count};
    pthread_t thread;
    if (pthread_create(&thread, NULL, wake_up, &sleeper) != 0) return 0;
    for (size_t index = 0; index < count; index++) {
        usleep(1000);
        // The descriptor's counter is zero, and so what is read is what was written.
        uint64_t now = cbc_moment();
        if (write(sleeper.descriptor, &now, sizeof now) != sizeof now) abort();
    }
    pthread_join(thread, NULL);
    close(sleeper.descriptor);
    return count;
}

// MARK: Connections

static bool is_no_delta(void *state, uint8_t first_byte, const uint8_t *payload, size_t count) {
    (void)first_byte;
    bool *has_come = state;
    *has_come = memmem(payload, count, "output_text.delta", 17) != NULL;
    return !*has_come;
}

size_t cbc_connections(uint16_t port, size_t count) {
    size_t opened = 0;
    for (size_t index = 0; index < count; index++) {
        channel channel;
        bool has_come = false;
        if (open_channel(&channel, port, false, false)) read_frames(&channel, is_no_delta, &has_come);
        close_channel(&channel);
        opened += has_come;
    }
    return opened;
}
