// Texts without their escapes. The memory belongs to the scanner, which belongs to its one task.
#pragma once

#include "Walk.hpp"

namespace csj {

/// Replaces texts that have escapes by their characters, in memory of the scanner.
///
/// The memory is sized for the whole document before the first text, so that no text is moved.
class Unescaper {
public:
    /// All texts of a document together are shorter than the document.
    Unescaper(csj_scanner &scanner, size_t document_count, bool has_backslash) noexcept
        : scanner(scanner), document_count(document_count), has_backslash(has_backslash) {}

    csj_status status = csj_ok;

    void unescape(csj_text &text) noexcept {
        if (!this->has_backslash || text.bytes == nullptr) { return; }
        if (std::memchr(text.bytes, '\\', text.count) == nullptr || !this->make_room()) { return; }
        uint8_t *output = this->scanner.text.get() + this->scanner.text_count;
        const size_t count = csj_unescape(text.bytes, text.count, output);
        this->scanner.text_count += count;
        text = {output, count};
    }

    /// Unescapes the text of a delta, whose halves of surrogate pairs other deltas may complete.
    void unescape_delta(csj_event &event) noexcept {
        const csj_text escaped = event.delta;
        this->unescape(event.delta);
        if (event.delta.bytes != escaped.bytes) {
            event.delta_halves = csj_surrogate_halves(escaped.bytes, escaped.count);
        }
    }

private:
    bool make_room() noexcept {
        if (this->scanner.text_capacity >= this->document_count) { return true; }
        this->scanner.text.reset(static_cast<uint8_t *>(std::malloc(this->document_count)));
        this->scanner.text_capacity = this->scanner.text ? this->document_count : 0;
        if (!this->scanner.text) { this->status = csj_no_memory; }
        return this->scanner.text != nullptr;
    }

    csj_scanner &scanner;
    const size_t document_count;
    const bool has_backslash;
};

}  // namespace csj
