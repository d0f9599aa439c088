// The responses, made once.
#include "Server.h"

#include "CStreamScript.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

// Writes an event as a chunk of its own, as a service does that has one event at a time.
static size_t write_chunk(uint8_t *target, const char *type, const void *message, size_t count) {
    uint8_t event[1024];
    size_t size = css_stream_event(event, type, message, count);
    size_t header = (size_t)sprintf((char *)target, "%zx\r\n", size);
    memcpy(target + header, event, size);
    memcpy(target + header + size, "\r\n", 2);
    return header + size + 2;
}

static size_t write_event(form form, uint8_t *target, const char *type, const void *message, size_t count) {
    return form >= FORM_EVENT_STREAM ? write_chunk(target, type, message, count)
                                     : write_frame(target, 0x81, message, count);
}

size_t write_delta(form form, uint8_t *target, const uint8_t *message) {
    // The events of Chat Completions have no types.
    const char *type = form == FORM_CHAT ? NULL : css_delta_type();
    return write_event(form, target, type, message, CSS_MESSAGE_SIZE);
}

static void add_event(block *target, form form, const char *type, const char *message) {
    size_t count = strlen(message);
    target->bytes = realloc(target->bytes, target->count + count + FORM_OVERHEAD);
    target->count += write_event(form, target->bytes + target->count, type, message, count);
}

static block deltas(form form, uint64_t message_count, uint64_t pause_after) {
    uint64_t count = message_count < CSS_BLOCK_COUNT ? message_count : CSS_BLOCK_COUNT;
    block made = {malloc((size_t)count * (CSS_MESSAGE_SIZE + FORM_OVERHEAD)), 0, 0};
    for (uint64_t number = 0; number < count; number++) {
        if (number == pause_after) made.pause = made.count;
        uint8_t message[CSS_MESSAGE_SIZE];
        if (form == FORM_CHAT) css_chat_message(number, message);
        else css_message(number, message);
        made.count += write_delta(form, made.bytes + made.count, message);
    }
    return made;
}

static script make_plain(form form, const options *options) {
    script made = {0};
    if (form == FORM_CHAT) {
        add_event(&made.start, form, NULL, css_chat_started());
        add_event(&made.end, form, NULL, css_chat_finished());
        add_event(&made.end, form, NULL, css_chat_end());
    } else {
        add_event(&made.start, form, css_created_type(), css_created());
        add_event(&made.end, form, css_completed_type(), css_completed());
    }
    if (form >= FORM_EVENT_STREAM) {
        static const char last_chunk[] = "0\r\n\r\n";
        made.end.bytes = realloc(made.end.bytes, made.end.count + sizeof last_chunk);
        memcpy(made.end.bytes + made.end.count, last_chunk, sizeof last_chunk - 1);
        made.end.count += sizeof last_chunk - 1;
    }
    made.messages = deltas(form, options->mode == MODE_FLOOD ? options->message_count : 0, options->pause_after);
    made.first = deltas(form, 1, 0);
    return made;
}

void make_scripts(const options *options, script scripts[FORM_COUNT]) {
    scripts[FORM_WEBSOCKET] = make_plain(FORM_WEBSOCKET, options);
    scripts[FORM_EVENT_STREAM] = make_plain(FORM_EVENT_STREAM, options);
    if (options->mode == MODE_FLOOD) scripts[FORM_CHAT] = make_plain(FORM_CHAT, options);
    if (options->deflates) scripts[FORM_WEBSOCKET_DEFLATE] = make_deflated(options);
    if (options->gzips) scripts[FORM_EVENT_STREAM_GZIP] = make_gzipped(options);
}
