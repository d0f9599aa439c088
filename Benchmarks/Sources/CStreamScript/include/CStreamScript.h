// The events that the benchmarks' server sends and that its clients expect: both sides make them from their numbers.
#ifndef CSTREAMSCRIPT_H
#define CSTREAMSCRIPT_H

#include <stddef.h>
#include <stdint.h>

enum {
    /// The bytes of a message with a delta.
    CSS_MESSAGE_SIZE = 250,
    /// The most bytes of a delta's text.
    CSS_TEXT_CAPACITY = 24,
    /// The bytes of a message that a client sends to a server which drops it.
    CSS_UPLOAD_SIZE = 1024,
    /// The number of different messages, after which they repeat.
    CSS_BLOCK_COUNT = 65536,
};

/// Writes the text of a delta, unescaped; returns its size in bytes.
size_t css_text(uint64_t number, char *text);

/// Writes a `response.output_text.delta` event of `CSS_MESSAGE_SIZE` bytes.
void css_message(uint64_t number, uint8_t *message);

/// Writes such an event whose text is a moment in nanoseconds, in 19 digits.
void css_stamped_message(uint64_t number, uint64_t moment, uint8_t *message);

/// Writes the `CSS_UPLOAD_SIZE` bytes of a message that is dropped.
void css_upload(uint8_t *message);

/// The moment in a text; 0 when the text is not one.
uint64_t css_moment(const char *text, size_t count);

/// The first event of a response, and the last.
const char *css_created(void);
const char *css_completed(void);

/// Writes a chunk of Chat Completions with the text of a delta, of `CSS_MESSAGE_SIZE` bytes.
void css_chat_message(uint64_t number, uint8_t *message);

/// The first chunk of a completion, the one that says why it ends, and the mark behind all.
const char *css_chat_started(void);
const char *css_chat_finished(void);
const char *css_chat_end(void);

/// The types of the first event, of a delta, and of the last.
const char *css_created_type(void);
const char *css_delta_type(void);
const char *css_completed_type(void);

/// Writes an event of an event stream, with a line for its type, unless that is NULL, and one for its data; returns its
/// size in bytes.
size_t css_stream_event(uint8_t *target, const char *type, const void *message, size_t count);

/// Adds the text of a delta to an FNV-1a hash, which begins with 0.
uint64_t css_hash(uint64_t hash, const char *text, size_t count);

#endif
