// Messages written by blocking calls, a frame each.
#define _GNU_SOURCE
#include "CBareClient.h"
#include "CStreamScript.h"
#include "Reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { HEADER_SIZE = 8, KEYS_SIZE = 256 };

// A masking key that cannot be predicted (RFC 6455 section 5.3), of many that the system makes at once.
static uint64_t next_key(void) {
    static uint32_t keys[KEYS_SIZE];
    static size_t left = 0;
    if (left == 0) {
        if (getrandom(keys, sizeof keys, 0) != sizeof keys) abort();
        left = KEYS_SIZE;
    }
    return keys[--left];
}

// Makes a masked frame of a binary message.
static void make_frame(uint8_t *frame, const uint8_t *message) {
    static const uint8_t start[] = {0x82, 0x80 | 126, CSS_UPLOAD_SIZE >> 8, CSS_UPLOAD_SIZE & 0xFF};
    uint64_t key = next_key();
    memcpy(frame, start, sizeof start);
    memcpy(frame + sizeof start, &key, 4);
    key |= key << 32;
    for (size_t index = 0; index < CSS_UPLOAD_SIZE; index += sizeof key) {
        uint64_t word;
        memcpy(&word, message + index, sizeof word);
        word ^= key;
        memcpy(frame + HEADER_SIZE + index, &word, sizeof word);
    }
}

static double processor_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Waits for the server's counts of the messages.
static void read_counts(reader *reader, cbc_sent *sent) {
    const uint8_t *payload;
    size_t payload_count;
    while (!reader_frame(reader, &payload, &payload_count))
        if (!reader_fill(reader)) return;
    if (payload_count >= sizeof sent->counts) return;
    memcpy(sent->counts, payload, payload_count);
}

cbc_sent cbc_send(uint16_t port, size_t count) {
    static reader reader;
    cbc_sent sent = {0};
    uint8_t message[CSS_UPLOAD_SIZE], frame[HEADER_SIZE + CSS_UPLOAD_SIZE];
    css_upload(message);
    bool is_open = reader_open(&reader, port);
    uint64_t start = cbc_moment();
    double processor = processor_seconds();
    for (size_t number = 0; is_open && number < count; number++) {
        make_frame(frame, message);
        is_open = reader_send(&reader, frame, sizeof frame);
    }
    if (is_open && reader_ask(&reader)) read_counts(&reader, &sent);
    sent.seconds = (double)(cbc_moment() - start) / 1e9;
    sent.processor_seconds = processor_seconds() - processor;
    close(reader.descriptor);
    return sent;
}
