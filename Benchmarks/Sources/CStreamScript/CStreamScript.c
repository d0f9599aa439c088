#include "CStreamScript.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = {
    " the", " of", " and", " stream", " a", " in", " between", " is", " that", " connection", " it", " was", " for",
    " on", " are", " as", " with", " his", " they", " I", " at", " be", " this", " have", " from", " or", " one",
    " had", " by", " word", " but", " not", " what", " all", " were", " we", " when", " your", " can", " said",
    " there", " use", " an", " each", " which", " she", " do", " how", " their", " if", " will", " up", ".", ",",
    " caf\xC3\xA9", " na\xC3\xAFve", " transport", " backpressure", " liveness", "\n", " 42", " (", ")", ":",
};

static uint64_t mixed(uint64_t number) {
    uint64_t value = (number % CSS_BLOCK_COUNT + 1) * 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

size_t css_text(uint64_t number, char *text) {
    const char *word = words[mixed(number) % (sizeof words / sizeof *words)];
    size_t count = strlen(word);
    memcpy(text, word, count);
    return count;
}

// The text of a delta as the content of a JSON string.
static void escaped_text(uint64_t number, char text[CSS_TEXT_CAPACITY + 1]) {
    text[css_text(number, text)] = 0;
    if (text[0] == '\n') strcpy(text, "\\n");
}

// Pads an event, whose last string is open, to its size.
static void pad(uint64_t number, const char *json, int count, uint8_t *message) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    memcpy(message, json, (size_t)count);
    uint64_t value = mixed(number + 1);
    while (count < CSS_MESSAGE_SIZE - 2) {
        message[count++] = (uint8_t)letters[value % (sizeof letters - 1)];
        value = (value >> 6) ^ (value << 58) ^ 0x5555;
    }
    memcpy(message + CSS_MESSAGE_SIZE - 2, "\"}", 2);
}

// Writes an event around a text that is escaped already.
static void write_message(uint64_t number, const char *text, uint8_t *message) {
    char json[CSS_MESSAGE_SIZE];
    int count = snprintf(
        json, sizeof json,
        "{\"type\":\"response.output_text.delta\",\"sequence_number\":%u,"
        "\"item_id\":\"msg_68d4f2a1b3c481908e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b\",\"output_index\":0,\"content_index\":0,"
        "\"delta\":\"%s\",\"logprobs\":[],\"obfuscation\":\"",
        (unsigned)(number % CSS_BLOCK_COUNT) + 4, text);
    pad(number, json, count, message);
}

void css_message(uint64_t number, uint8_t *message) {
    char text[CSS_TEXT_CAPACITY + 1];
    escaped_text(number, text);
    write_message(number, text, message);
}

void css_stamped_message(uint64_t number, uint64_t moment, uint8_t *message) {
    char text[CSS_TEXT_CAPACITY + 1];
    snprintf(text, sizeof text, "%019llu", (unsigned long long)moment);
    write_message(number, text, message);
}

void css_upload(uint8_t *message) {
    // Neighbours of any distance below the size of a header differ.
    for (size_t index = 0; index < CSS_UPLOAD_SIZE; index++) message[index] = (uint8_t)(index * 37 + index / 256);
}

uint64_t css_moment(const char *text, size_t count) {
    if (count != 19) return 0;
    uint64_t moment = 0;
    for (size_t index = 0; index < count; index++) {
        if (text[index] < '0' || text[index] > '9') return 0;
        moment = moment * 10 + (uint64_t)(text[index] - '0');
    }
    return moment;
}

const char *css_created(void) {
    return "{\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"status\":"
           "\"in_progress\"}}";
}

const char *css_completed(void) {
    return "{\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\"}}";
}

// The members that all chunks of a completion share, up to the only choice's delta.
#define CHUNK_START \
    "{\"id\":\"chatcmpl-CzvS5kQyR3n1mZ0c7dPq2uTfW8bXe\",\"object\":\"chat.completion.chunk\",\"created\":1769000000," \
    "\"model\":\"paper-and-ink\",\"choices\":[{\"index\":0,\"delta\":"

void css_chat_message(uint64_t number, uint8_t *message) {
    char text[CSS_TEXT_CAPACITY + 1], json[CSS_MESSAGE_SIZE];
    escaped_text(number, text);
    int count = snprintf(
        json, sizeof json, CHUNK_START "{\"content\":\"%s\"},\"finish_reason\":null}],\"obfuscation\":\"", text);
    pad(number, json, count, message);
}

const char *css_chat_started(void) {
    return CHUNK_START "{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}";
}

const char *css_chat_finished(void) { return CHUNK_START "{},\"finish_reason\":\"stop\"}]}"; }

const char *css_chat_end(void) { return "[DONE]"; }

const char *css_created_type(void) { return "response.created"; }

const char *css_delta_type(void) { return "response.output_text.delta"; }

const char *css_completed_type(void) { return "response.completed"; }

size_t css_stream_event(uint8_t *target, const char *type, const void *message, size_t count) {
    size_t head = type ? (size_t)sprintf((char *)target, "event: %s\n", type) : 0;
    head += (size_t)sprintf((char *)target + head, "data: ");
    memcpy(target + head, message, count);
    memcpy(target + head + count, "\n\n", 2);
    return head + count + 2;
}

uint64_t css_hash(uint64_t hash, const char *text, size_t count) {
    if (hash == 0) hash = 0xCBF29CE484222325u;
    for (size_t index = 0; index < count; index++) hash = (hash ^ (uint8_t)text[index]) * 0x100000001B3u;
    return hash;
}
