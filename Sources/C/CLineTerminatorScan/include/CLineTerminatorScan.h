// Finds CR and LF in bytes, many at a time. Functions of a few instructions that are compiled into their callers: no
// library, no state, no choice at run time.
//
// There are four forms of the same three functions: AVX2 and SSE2 for x86-64 (SSE2 is part of every x86-64; the other is
// used where the compiler is told that the machine has it), NEON for arm64, and words of 64 bits elsewhere.
// CLTS_PORTABLE chooses the last one on any machine, for its test.
#ifndef CLINETERMINATORSCAN_H
#define CLINETERMINATORSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(CLTS_PORTABLE) && defined(__AVX2__)
#define CLTS_AVX2 1
#include <immintrin.h>
#elif !defined(CLTS_PORTABLE) && defined(__SSE2__)
#define CLTS_SSE2 1
#include <emmintrin.h>
#elif !defined(CLTS_PORTABLE) && defined(__ARM_NEON) && defined(__aarch64__)
#define CLTS_NEON 1
#include <arm_neon.h>
#endif

/// The number of bytes that one mask describes.
enum { CLTS_BLOCK = 64 };

/// Returns the word at `bytes`, its first byte lowest.
static inline uint64_t clts_word(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/// Returns a word with the high bit of each byte set where the byte is zero; the other bits are zero.
static inline uint64_t clts_zero_bytes(uint64_t word) {
    const uint64_t low = 0x7F7F7F7F7F7F7F7F;
    return ~(((word & low) + low) | word | low);
}

/// Returns one bit for each of the eight bytes of a word, the first byte's lowest: set where it is CR or LF.
static inline uint64_t clts_word_mask(uint64_t word) {
    const uint64_t bits = clts_zero_bytes(word ^ 0x0A0A0A0A0A0A0A0A) | clts_zero_bytes(word ^ 0x0D0D0D0D0D0D0D0D);
    // The eight high bits, side by side: no two products of the multiplication meet.
    return ((bits >> 7) * 0x0102040810204080) >> 56;
}

#if defined(CLTS_SSE2) || defined(CLTS_AVX2)
/// Returns the same for sixteen bytes.
static inline uint64_t clts_mask16(const uint8_t *bytes) {
    const __m128i text = _mm_loadu_si128((const __m128i *)bytes);
    const __m128i hits =
        _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('\n')), _mm_cmpeq_epi8(text, _mm_set1_epi8('\r')));
    return (uint64_t)(uint32_t)_mm_movemask_epi8(hits);
}
#else
/// Returns the same for sixteen bytes.
static inline uint64_t clts_mask16(const uint8_t *bytes) {
    return clts_word_mask(clts_word(bytes)) | clts_word_mask(clts_word(bytes + 8)) << 8;
}
#endif

#if defined(CLTS_AVX2)

/// Returns the same for thirty-two bytes.
static inline uint64_t clts_mask32(const uint8_t *bytes) {
    const __m256i text = _mm256_loadu_si256((const __m256i *)bytes);
    const __m256i hits = _mm256_or_si256(
        _mm256_cmpeq_epi8(text, _mm256_set1_epi8('\n')), _mm256_cmpeq_epi8(text, _mm256_set1_epi8('\r'))
    );
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(hits);
}

static inline uint64_t clts_block_mask(const uint8_t *bytes) {
    return clts_mask32(bytes) | clts_mask32(bytes + 32) << 32;
}

static inline bool clts_block_has_control(const uint8_t *bytes) {
    const __m256i least = _mm256_min_epu8(
        _mm256_loadu_si256((const __m256i *)bytes), _mm256_loadu_si256((const __m256i *)(bytes + 32))
    );
    const __m256i excess = _mm256_subs_epu8(least, _mm256_set1_epi8('\r'));
    return _mm256_movemask_epi8(_mm256_cmpeq_epi8(excess, _mm256_setzero_si256())) != 0;
}

#elif defined(CLTS_SSE2)

static inline uint64_t clts_block_mask(const uint8_t *bytes) {
    return clts_mask16(bytes) | clts_mask16(bytes + 16) << 16 | clts_mask16(bytes + 32) << 32
        | clts_mask16(bytes + 48) << 48;
}

static inline bool clts_block_has_control(const uint8_t *bytes) {
    const __m128i *const text = (const __m128i *)bytes;
    const __m128i least = _mm_min_epu8(
        _mm_min_epu8(_mm_loadu_si128(text), _mm_loadu_si128(text + 1)),
        _mm_min_epu8(_mm_loadu_si128(text + 2), _mm_loadu_si128(text + 3))
    );
    const __m128i excess = _mm_subs_epu8(least, _mm_set1_epi8('\r'));
    return _mm_movemask_epi8(_mm_cmpeq_epi8(excess, _mm_setzero_si128())) != 0;
}

#elif defined(CLTS_NEON)

/// Returns bytes that are all ones where the text has CR or LF.
static inline uint8x16_t clts_hits(const uint8_t *bytes) {
    const uint8x16_t text = vld1q_u8(bytes);
    return vorrq_u8(vceqq_u8(text, vdupq_n_u8('\n')), vceqq_u8(text, vdupq_n_u8('\r')));
}

static inline uint64_t clts_block_mask(const uint8_t *bytes) {
    static const uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t weight = vld1q_u8(weights);
    // Adding neighbours three times brings the bits of eight bytes together in one.
    const uint8x16_t first =
        vpaddq_u8(vandq_u8(clts_hits(bytes), weight), vandq_u8(clts_hits(bytes + 16), weight));
    const uint8x16_t second =
        vpaddq_u8(vandq_u8(clts_hits(bytes + 32), weight), vandq_u8(clts_hits(bytes + 48), weight));
    const uint8x16_t pairs = vpaddq_u8(first, second);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)), 0);
}

static inline bool clts_block_has_control(const uint8_t *bytes) {
    const uint8x16_t least = vminq_u8(
        vminq_u8(vld1q_u8(bytes), vld1q_u8(bytes + 16)), vminq_u8(vld1q_u8(bytes + 32), vld1q_u8(bytes + 48))
    );
    return vminvq_u8(least) <= '\r';
}

#else

static inline uint64_t clts_block_mask(const uint8_t *bytes) {
    uint64_t mask = 0;
    for (unsigned index = 0; index < CLTS_BLOCK; index += 16) { mask |= clts_mask16(bytes + index) << index; }
    return mask;
}

static inline bool clts_block_has_control(const uint8_t *bytes) {
    const uint64_t high = 0x8080808080808080;
    uint64_t controls = 0;
    for (unsigned index = 0; index < CLTS_BLOCK; index += 8) {
        const uint64_t word = clts_word(bytes + index);
        // With its high bit set no byte borrows from the next.
        controls |= ~(((word | high) - 0x0E0E0E0E0E0E0E0E) | word);
    }
    return (controls & high) != 0;
}

#endif

/// Returns one bit for each of 64 bytes, the first byte's lowest: set where the byte is CR or LF.
static inline uint64_t clts_mask(const void *bytes) { return clts_block_mask((const uint8_t *)bytes); }

/// Returns whether any of 64 bytes is below 0x0E: where none is, there is neither CR nor LF.
///
/// Nearly every block of text has none, and this costs a third of the exact search.
static inline bool clts_has_control(const void *bytes) { return clts_block_has_control((const uint8_t *)bytes); }

/// Returns the mask of fewer than 64 bytes, without reading past them.
static inline uint64_t clts_short_mask(const void *start, size_t count) {
    const uint8_t *const bytes = (const uint8_t *)start;
    uint64_t mask = 0;
    if (count >= 16) {
        // The last sixteen bytes overlap those before.
        for (size_t index = 0; index + 16 < count; index += 16) { mask |= clts_mask16(bytes + index) << index; }
        return mask | clts_mask16(bytes + count - 16) << (count - 16);
    }
    if (count >= 8) {
        return clts_word_mask(clts_word(bytes)) | clts_word_mask(clts_word(bytes + count - 8)) << (count - 8);
    }
    for (size_t index = 0; index < count; ++index) {
        mask |= (uint64_t)(bytes[index] == '\n' || bytes[index] == '\r') << index;
    }
    return mask;
}

#endif
