// One connection: its input, its output, and their order.
#include "Server.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "CStreamScript.h"

enum {
    INPUT_SIZE = 2048,
    INPUT_LIMIT = 1 << 20,
    // The bytes of one connection that are written before the turn of another.
    SHARE = 256 << 10,
};

static void watch(connection *connection, bool wants_write) {
    if (connection->wants_write == wants_write) return;
    connection->wants_write = wants_write;
    struct epoll_event event = {.events = EPOLLIN | (wants_write ? EPOLLOUT : 0), .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_MOD, connection->descriptor, &event);
}

// Appends bytes of this connection alone to its output.
void say(connection *connection, const void *bytes, size_t count) {
    if (connection->output_count > 0) memmove(connection->small, connection->output, connection->output_count);
    memcpy(connection->small + connection->output_count, bytes, count);
    connection->output = connection->small;
    connection->output_count += count;
}

// MARK: Receiving

void consume_input(connection *connection, size_t count) {
    connection->input_count -= count;
    memmove(connection->input, connection->input + count, connection->input_count);
}

// Processes the input as far as it is complete.
static void take_input(connection *connection, const options *options, const script scripts[FORM_COUNT]) {
    bool goes_on = true;
    while (goes_on) {
        size_t before = connection->input_count;
        switch (connection->state) {
        case STATE_HEAD:
            take_head(connection, options);
            goes_on = connection->input_count < before;
            break;
        case STATE_BODY:
            goes_on = take_body(connection);
            break;
        case STATE_REQUEST:
        case STATE_STREAM:
            // A request that follows an event stream waits for its end.
            goes_on = connection->form < FORM_EVENT_STREAM && !connection->says_goodbye
                      && take_frames(connection, &scripts[connection->form]);
            break;
        case STATE_CLOSING:
            connection->input_count = 0;
            goes_on = false;
            break;
        case STATE_TLS:
            goes_on = false;
            break;
        }
    }
}

static bool has_room(connection *connection) {
    if (connection->input_capacity - connection->input_count > 1) return true;
    size_t capacity = connection->input_capacity == 0 ? INPUT_SIZE : 2 * connection->input_capacity;
    if (capacity > INPUT_LIMIT) return false;
    connection->input = realloc(connection->input, capacity);
    connection->input_capacity = capacity;
    return true;
}

// Reads all that has arrived; false when the client is gone.
bool receive(connection *connection, const options *options, const script scripts[FORM_COUNT]) {
    // An error that another connection has left would be taken for one of this connection.
    if (connection->tls) ERR_clear_error();
    if (options->mode == MODE_DROP && connection->state == STATE_REQUEST) return drop_messages(connection);
    while (has_room(connection)) {
        // A byte is left for the NUL of a string.
        size_t room = connection->input_capacity - connection->input_count - 1;
        uint8_t *target = connection->input + connection->input_count;
        ssize_t count = connection->tls ? SSL_read(connection->tls, target, (int)room)
                                        : recv(connection->descriptor, target, room, 0);
        if (count <= 0) {
            if (!connection->tls) return count < 0 && errno == EAGAIN;
            return SSL_get_error(connection->tls, (int)count) == SSL_ERROR_WANT_READ;
        }
        connection->input_count += (size_t)count;
        take_input(connection, options, scripts);
    }
    return false;
}

// MARK: Sending

// The next messages of a flood; none during a pause.
static block next_messages(connection *connection, const options *options, const block *messages) {
    bool has_pause = options->pause_after > 0, is_paused = has_pause && connection->sent_count == options->pause_after;
    if (is_paused && options->permitted == 0) return (block){0};
    size_t start = is_paused ? messages->pause : 0, end = has_pause && !is_paused ? messages->pause : messages->count;
    uint64_t count = options->message_count < CSS_BLOCK_COUNT ? options->message_count : CSS_BLOCK_COUNT;
    if (has_pause) count = is_paused ? count - options->pause_after : options->pause_after;
    connection->sent_count += count;
    return (block){messages->bytes + start, end - start, 0};
}

// Whether the end of a response may be sent.
static bool may_end(const options *options) { return options->pause_after == 0 || options->permitted > 1; }

// The next bytes of a response; false when there are none for the moment.
static bool refill(connection *connection, const options *options, const script *script) {
    uint64_t count = options->message_count;
    bool stays = options->mode == MODE_IDLE || options->mode == MODE_TURNS;
    block next = {0};
    if (!connection->has_begun) {
        if (options->mode == MODE_PACE && !pace_add(connection, options)) return false;
        next = script->start;
        connection->has_begun = true;
    } else if (stays && connection->sent_count == 0) {
        next = script->first;
        connection->sent_count = 1;
    } else if (options->mode == MODE_FLOOD && connection->sent_count < count) {
        next = next_messages(connection, options, &script->messages);
    } else if (!stays && connection->sent_count >= count && !connection->has_ended && may_end(options)) {
        next = script->end;
        connection->has_ended = true;
    }
    connection->output = next.bytes;
    connection->output_count = next.count;
    return next.count > 0;
}

// Prepares for the next request after a response; false when there is no more output.
static bool begin_again(connection *connection, const options *options, const script scripts[FORM_COUNT]) {
    bool is_event_stream = connection->form >= FORM_EVENT_STREAM;
    if (is_event_stream && !connection->keeps_alive) connection->says_goodbye = true;
    if (connection->says_goodbye) return false;
    connection->has_begun = connection->has_ended = false;
    connection->sent_count = 0;
    if (is_event_stream) {
        connection->state = STATE_HEAD;
        take_input(connection, options, scripts);
    } else if (connection->requested > 0) {
        connection->requested--;
    } else {
        connection->state = STATE_REQUEST;
    }
    return connection->output_count > 0 || connection->state == STATE_STREAM;
}

static void say_goodbye(connection *connection) {
    connection->state = STATE_CLOSING;
    if (connection->tls) SSL_shutdown(connection->tls);
    shutdown(connection->descriptor, SHUT_WR);
}

// Sets the next output; false when there is none for the moment.
static bool has_output(connection *connection, const options *options, const script scripts[FORM_COUNT]) {
    if (connection->output_count > 0) return true;
    if (connection->control_count > 0) {
        say(connection, connection->control, connection->control_count);
        connection->control_count = 0;
        return true;
    }
    if (connection->rest_count > 0) {
        connection->output = connection->rest;
        connection->output_count = connection->rest_count;
        connection->rest_count = 0;
        return true;
    }
    if (connection->state == STATE_STREAM && !connection->says_goodbye) {
        if (refill(connection, options, &scripts[connection->form])) return true;
        if (connection->has_ended && begin_again(connection, options, scripts))
            return has_output(connection, options, scripts);
    }
    if (connection->says_goodbye && connection->state != STATE_CLOSING) say_goodbye(connection);
    return false;
}

static ssize_t write_some(connection *connection) {
    return connection->tls ? SSL_write(connection->tls, connection->output, (int)connection->output_count)
                           : send(connection->descriptor, connection->output, connection->output_count, MSG_NOSIGNAL);
}

// Whether a failed write can be tried again later.
static bool waits(connection *connection, ssize_t result) {
    if (!connection->tls) return errno == EAGAIN;
    int reason = SSL_get_error(connection->tls, (int)result);
    return reason == SSL_ERROR_WANT_WRITE || reason == SSL_ERROR_WANT_READ;
}

// Writes as much as the client takes, up to SHARE; false when the client is gone.
bool flush(connection *connection, const options *options, const script scripts[FORM_COUNT]) {
    if (connection->tls) ERR_clear_error();
    size_t written = 0;
    while (has_output(connection, options, scripts)) {
        ssize_t count = written < SHARE ? write_some(connection) : 0;
        if (count <= 0) {
            watch(connection, true);
            return written >= SHARE || waits(connection, count);
        }
        connection->output += count;
        connection->output_count -= (size_t)count;
        written += (size_t)count;
    }
    watch(connection, false);
    return true;
}
