// The events that the benchmarks' server sends, and that its clients expect: made from their numbers, and the same
// on both sides.
#ifndef CSTREAMSCRIPT_H
#define CSTREAMSCRIPT_H

#include <stddef.h>
#include <stdint.h>

enum {
    /// The bytes of a message with a delta.
    CSS_MESSAGE_SIZE = 250,
    /// The most bytes that a delta's text has.
    CSS_TEXT_CAPACITY = 24,
    /// So many messages are different; after them they repeat.
    CSS_BLOCK_COUNT = 65536,
};

/// Writes the text of a delta as its consumer gets it; how many bytes.
size_t css_text(uint64_t number, char *text);

/// Writes a `response.output_text.delta` event of `CSS_MESSAGE_SIZE` bytes.
void css_message(uint64_t number, uint8_t *message);

/// Writes such an event whose text is a moment, in 19 digits.
void css_stamped_message(uint64_t number, uint64_t moment, uint8_t *message);

/// The moment that a text has; 0 when it has none.
uint64_t css_moment(const char *text, size_t count);

/// The first event of a response, and the last.
const char *css_created(void);
const char *css_completed(void);

/// The types of the first event, of a delta, and of the last.
const char *css_created_type(void);
const char *css_delta_type(void);
const char *css_completed_type(void);

/// Writes an event as an event stream has it, with a line of its type and one of its data; how many bytes.
size_t css_stream_event(uint8_t *target, const char *type, const void *message, size_t count);

/// Goes on with an FNV-1a hash, which begins with 0, over the text of a delta.
uint64_t css_hash(uint64_t hash, const char *text, size_t count);

#endif
