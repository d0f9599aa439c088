// The heads of requests, and their bodies, which have a Content-Length and are discarded.
#define _GNU_SOURCE
#include "Server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char end_of_head[] = "\r\n\r\n";

// The value of the first field with a name, without the whitespace around it; NULL when there is none.
const char *field_value(const char *head, const char *name, size_t *count) {
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncmp(line, end_of_head, sizeof end_of_head - 1) == 0) break;
        if (strncasecmp(line + 2, name, length) != 0 || line[2 + length] != ':') continue;
        const char *value = line + 3 + length;
        value += strspn(value, " \t");
        size_t size = strcspn(value, "\r\n");
        while (size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\t')) size--;
        *count = size;
        return value;
    }
    return NULL;
}

// Whether one of the comma-separated elements of a field is a token, with or without parameters.
static bool field_has(const char *head, const char *name, const char *token) {
    size_t count, length = strlen(token);
    const char *value = field_value(head, name, &count);
    for (const char *end = value ? value + count : NULL; value && value < end; value += strcspn(value, ",")) {
        value += strspn(value, ", \t");
        if (strncasecmp(value, token, length) == 0 && strchr(",; \t\r", value[length])) return true;
    }
    return false;
}

// The form of an event stream. Paced messages are made one at a time, and are not compressed.
static form form_of(const char *head, const options *options) {
    bool is_of_chat = memmem(head, strcspn(head, "\r"), "/chat/completions ", 18) != NULL;
    if (is_of_chat && options->mode == MODE_FLOOD) return FORM_CHAT;
    bool gzips = options->gzips && options->mode != MODE_PACE && field_has(head, "accept-encoding", "gzip");
    return gzips ? FORM_EVENT_STREAM_GZIP : FORM_EVENT_STREAM;
}

static void answer_request(connection *connection, const char *head, const options *options) {
    size_t count;
    const char *length = field_value(head, "content-length", &count);
    connection->body_remaining = length ? strtoull(length, NULL, 10) : 0;
    bool is_old = memmem(head, strcspn(head, "\r"), "HTTP/1.0", 8) != NULL;
    connection->form = form_of(head, options);
    connection->keeps_alive = !is_old && !field_has(head, "connection", "close");
    connection->state = STATE_BODY;
}

// Takes the head of a request once it is complete.
void take_head(connection *connection, const options *options) {
    char *head = (char *)connection->input;
    head[connection->input_count] = 0;
    char *end = strstr(head, end_of_head);
    if (!end) return;
    size_t size = (size_t)(end - head) + sizeof end_of_head - 1, count;
    char next = head[size];
    head[size] = 0;
    if (field_value(head, "sec-websocket-key", &count)) answer_upgrade(connection, head, options);
    else answer_request(connection, head, options);
    head[size] = next;
    consume_input(connection, size);
}

// MARK: Bodies

static void answer_body(connection *connection) {
    char head[256];
    int count = snprintf(
        head, sizeof head,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
        "transfer-encoding: chunked\r\n%s%s\r\n",
        connection->form == FORM_EVENT_STREAM_GZIP ? "content-encoding: gzip\r\n" : "",
        connection->keeps_alive ? "" : "connection: close\r\n");
    say(connection, head, (size_t)count);
    connection->state = STATE_STREAM;
}

// Takes the received part of a body, and answers the request when the body is complete; false when it needs more.
bool take_body(connection *connection) {
    uint64_t remaining = connection->body_remaining;
    size_t count = connection->input_count < remaining ? connection->input_count : (size_t)remaining;
    consume_input(connection, count);
    connection->body_remaining -= count;
    if (connection->body_remaining > 0) return false;
    answer_body(connection);
    return true;
}
