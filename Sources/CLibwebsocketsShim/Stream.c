// What is done with one connection: its request's fields, its response's, reading, and the end.
#define _GNU_SOURCE // memmem
#include "Internal.h"

#ifdef __linux__
#include <linux/sockios.h>
#endif
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

bool clws_write_fields(void *cursor, size_t room, const uint8_t *fields, size_t count, bool replaces_connection) {
    static const char connection[] = "connection: close\r\n";
    char **position = cursor;
    size_t length = sizeof connection - 1;
    // What stands before the cursor is the request line and libwebsockets' own fields, so stepping back is safe.
    if (replaces_connection && memcmp(*position - length, connection, length) == 0) {
        *position -= length;
        room += length;
    }
    if (count > room) return false;
    memcpy(*position, fields, count);
    *position += count;
    return true;
}

ptrdiff_t clws_take_back(void *cursor, size_t room, uint8_t *buffer, size_t capacity) {
    char **position = cursor;
    // libwebsockets says how much room is left of a buffer whose size is ours, less these few bytes.
    const size_t reserve = 12, size = LWS_PRE + CLWS_READ_SIZE - reserve;
    if (room > size) return -1;
    const char *end = *position, *start = end - (size - room);
    if (end - start < 5 || memcmp(start, "POST ", 5) != 0) return -1;
    char *line_end = memmem(start, (size_t)(end - start), "\r\n", 2);
    if (!line_end) return -1;
    const char *fields = line_end + 2;
    size_t count = (size_t)(end - fields);
    if (count > capacity) return -1;
    memcpy(buffer, fields, count);
    *position = line_end; // libwebsockets ends the header section with a line break: here, the request line
    return (ptrdiff_t)count;
}

int clws_copy_field(clws_stream *stream, const char *name, char *buffer, int capacity) {
    struct lws *wsi = (struct lws *)stream;
    const unsigned char *token_name;
    for (int token = 0; (token_name = lws_token_to_string((enum lws_token_indexes)token)); token++)
        if (strcmp((const char *)token_name, name) == 0)
            return lws_hdr_total_length(wsi, (enum lws_token_indexes)token) > 0
                       ? lws_hdr_copy(wsi, buffer, capacity, (enum lws_token_indexes)token)
                       : -1;
    return lws_hdr_custom_copy(wsi, buffer, capacity, name, (int)strlen(name));
}

void clws_release_head(clws_stream *stream) { lws_http_headers_detach((struct lws *)stream); }

// What one read has given so far of a body. A server that sends each event as a chunk makes hundreds of pieces in one
// read: reported together they cost as much as one.
typedef struct {
    struct lws *wsi; // NULL: nothing is being read
    uint8_t *memory; // what it is read into
    uint8_t *bytes;
    size_t count;
    size_t total;      // with what was reported
    bool is_completed; // the end of the body was reported
} gathering;

enum {
    // More than a record of TLS has (RFC 8446 section 5.1), which is all that one read gives. libwebsockets 5.0 writes
    // zeros into all that may be read, each time.
    TLS_READ_SIZE = 20480,
};

static _Thread_local gathering gathered;
_Static_assert(CLWS_READ_BYTE_COUNT >= LWS_PRE + CLWS_READ_SIZE, "a read needs more memory");

int clws_report_gathered(struct lws *wsi) {
    if (gathered.wsi != wsi || gathered.count == 0) return 0;
    size_t count = gathered.count;
    gathered.count = 0;
    return clws_report(wsi, CLWS_EVENT_BYTES_RECEIVED, gathered.bytes, count);
}

int clws_gather(struct lws *wsi, uint8_t *bytes, size_t count) {
    gathered.total += count;
    // What came with the header section lies in a buffer of libwebsockets, which is gone when the read is over.
    bool is_ours = (uintptr_t)bytes - (uintptr_t)gathered.memory < CLWS_READ_BYTE_COUNT;
    if (gathered.wsi != wsi || !is_ours) {
        int verdict = clws_report_gathered(wsi);
        return verdict ? verdict : clws_report(wsi, CLWS_EVENT_BYTES_RECEIVED, bytes, count);
    }
    // Pieces lie in order, with nothing but chunk headers between them, which have been read.
    if (gathered.count == 0)
        gathered.bytes = bytes;
    else
        memmove(gathered.bytes + gathered.count, bytes, count);
    gathered.count += count;
    return 0;
}

void clws_report_completed(struct lws *wsi) {
    clws_report_gathered(wsi);
    if (gathered.wsi == wsi) gathered.is_completed = true;
    clws_report(wsi, CLWS_EVENT_COMPLETED, NULL, 0);
}

// True, after a failed read, for a body in chunks that ended with the connection. Versions before 5.0 report it.
static bool is_chunked_and_over(struct lws *wsi, int unread) {
    // Bytes that libwebsockets cannot parse stay unread.
    return unread == 0 && lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0 &&
           lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0;
}

clws_reading clws_read(clws_stream *stream, uint8_t *memory, size_t count) {
    // libwebsockets reads at most `length` bytes into the buffer behind LWS_PRE, and hands the body bytes on.
    struct lws *wsi = (struct lws *)stream;
    char *start = (char *)memory + LWS_PRE;
    const size_t limit = lws_is_ssl(wsi) ? TLS_READ_SIZE : CLWS_READ_SIZE;
    int length = (int)(count < limit ? count : limit);
    gathered = (gathering){.wsi = wsi, .memory = memory};
    bool is_alive = lws_http_client_read(wsi, &start, &length) >= 0;
    bool is_over = (!is_alive && is_chunked_and_over(wsi, length)) ||
                   clws_attempt_is_over(lws_wsi_user(wsi), gathered.total, is_alive);
    if (is_over && !gathered.is_completed) {
        clws_report_completed(wsi);
        is_alive = false;
    }
    clws_reading reading = {.bytes = gathered.bytes, .count = gathered.count, .is_alive = is_alive};
    gathered = (gathering){.wsi = NULL};
    return reading;
}

void clws_watch_peer(clws_stream *stream, int idle_seconds, int probe_seconds, int silence_milliseconds) {
    int descriptor = lws_get_socket_fd((struct lws *)stream);
    int is_on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &is_on, sizeof is_on);
#ifdef TCP_KEEPIDLE
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
#else
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPALIVE, &idle_seconds, sizeof idle_seconds); // Darwin's name for it
#endif
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &probe_seconds, sizeof probe_seconds);
    int count = 2;
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
#ifdef TCP_USER_TIMEOUT
    unsigned silence = (unsigned)silence_milliseconds;
    setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence);
#else
    (void)silence_milliseconds;
#endif
}

void clws_request_write(clws_stream *stream) { lws_callback_on_writable((struct lws *)stream); }

bool clws_is_choked(clws_stream *stream) { return lws_send_pipe_choked((struct lws *)stream) != 0; }

bool clws_is_write_pending(clws_stream *stream) { return lws_partial_buffered((struct lws *)stream); }

// Whether the system holds bytes that it could not send yet, because the peer does not read.
static bool has_unsent(int descriptor) {
#ifdef __linux__
    int count = 0;
    return ioctl(descriptor, SIOCOUTQNSD, &count) == 0 && count > 0;
#else
    (void)descriptor;
    return false;
#endif
}

void clws_kill(clws_stream *stream) {
    struct lws *wsi = (struct lws *)stream;
    clws_attempt_end(lws_wsi_user(wsi));
    int descriptor = lws_get_socket_fd(wsi);
    bool is_write_pending = lws_partial_buffered(wsi);
    if (is_write_pending || has_unsent(descriptor)) {
        // Or the system would send the rest before it says that the connection is closed, however long that takes.
        struct linger forget = {.l_onoff = 1, .l_linger = 0};
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &forget, sizeof forget);
    }
    if (is_write_pending) {
        // Asked to close, libwebsockets would go on writing for up to 5 s. A time-out it obeys.
        lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC);
        lws_cancel_service(lws_get_context(wsi));
    } else {
        lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_SYNC);
    }
}
