// Holds the functions of CLineTerminatorScan.h against a loop over single bytes. Compiled once for each of their forms.
#include "CLineTerminatorScan.h"

#include <stdio.h>
#include <stdlib.h>

/// The bytes that a form could take for CR or LF, or that could disturb its neighbours, and ordinary text.
static const uint8_t alphabet[] = {'\n', '\r', 0, 9, 0x0B, 0x0C, 0x0E, 0x0F, 0x7F, 0x80, 0x8A, 0x8D, 0xFF, 'x', 'x', 'x'};

static uint64_t state = 1;

static uint64_t next_random(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

static uint64_t naive_mask(const uint8_t *bytes, size_t count) {
    uint64_t mask = 0;
    for (size_t index = 0; index < count; ++index) {
        mask |= (uint64_t)(bytes[index] == '\n' || bytes[index] == '\r') << index;
    }
    return mask;
}

static int check(const uint8_t *bytes, size_t count) {
    const uint64_t expected = naive_mask(bytes, count);
    const uint64_t found = count == CLTS_BLOCK ? clts_mask(bytes) : clts_short_mask(bytes, count);
    if (found != expected) {
        printf("%zu bytes: %016llx instead of %016llx\n", count, (unsigned long long)found, (unsigned long long)expected);
        return 1;
    }
    if (count == CLTS_BLOCK && expected != 0 && !clts_has_control(bytes)) {
        printf("a block with CR or LF is said to have no control character\n");
        return 1;
    }
    return 0;
}

int main(void) {
    for (size_t count = 0; count <= CLTS_BLOCK; ++count) {
        // Memory of just this size, so that the address sanitizer sees a byte too many.
        uint8_t *const bytes = malloc(count + 1);
        if (bytes == NULL) { return 2; }
        for (unsigned round = 0; round < 4000; ++round) {
            // From text without a terminator to terminators only.
            const size_t choice = 1 + round % sizeof alphabet;
            const size_t skipped = round % 2 == 0 ? 0 : sizeof alphabet - choice;
            for (size_t index = 0; index < count; ++index) {
                bytes[1 + index] = alphabet[skipped + next_random() % choice];
            }
            if (check(bytes + 1, count) != 0) { return 1; }
        }
        for (unsigned value = 0; value < 256; ++value) {
            for (size_t place = 0; place < count; ++place) {
                memset(bytes + 1, 'x', count);
                bytes[1 + place] = (uint8_t)value;
                if (check(bytes + 1, count) != 0) { return 1; }
            }
        }
        free(bytes);
    }
    return 0;
}
