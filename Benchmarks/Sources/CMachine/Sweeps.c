// The passes over memory that say what the machine can do at best.
#include "CMachine.h"

#include <string.h>

static size_t count_tail(const uint8_t *bytes, size_t count) {
    size_t found = 0;
    for (size_t index = 0; index < count; ++index) found += bytes[index] == '\n' || bytes[index] == '\r';
    return found;
}

#if defined(__x86_64__)

#include <immintrin.h>

__attribute__((target("avx2,popcnt"))) static size_t count_by_avx2(const uint8_t *bytes, size_t count) {
    const __m256i line_feed = _mm256_set1_epi8('\n'), carriage_return = _mm256_set1_epi8('\r');
    size_t found = 0, offset = 0;
    for (; count - offset >= 64; offset += 64) {
        const __m256i low = _mm256_loadu_si256((const __m256i *)(bytes + offset));
        const __m256i high = _mm256_loadu_si256((const __m256i *)(bytes + offset + 32));
        const uint32_t low_mask = (uint32_t)_mm256_movemask_epi8(
            _mm256_or_si256(_mm256_cmpeq_epi8(low, line_feed), _mm256_cmpeq_epi8(low, carriage_return)));
        const uint32_t high_mask = (uint32_t)_mm256_movemask_epi8(
            _mm256_or_si256(_mm256_cmpeq_epi8(high, line_feed), _mm256_cmpeq_epi8(high, carriage_return)));
        found += (size_t)__builtin_popcountll((uint64_t)high_mask << 32 | low_mask);
    }
    return found + count_tail(bytes + offset, count - offset);
}

static size_t count_by_sse2(const uint8_t *bytes, size_t count) {
    const __m128i line_feed = _mm_set1_epi8('\n'), carriage_return = _mm_set1_epi8('\r');
    size_t found = 0, offset = 0;
    for (; count - offset >= 64; offset += 64) {
        uint64_t mask = 0;
        for (int part = 0; part < 4; ++part) {
            const __m128i block = _mm_loadu_si128((const __m128i *)(bytes + offset + 16 * part));
            const uint64_t bits = (uint16_t)_mm_movemask_epi8(
                _mm_or_si128(_mm_cmpeq_epi8(block, line_feed), _mm_cmpeq_epi8(block, carriage_return)));
            mask |= bits << (16 * part);
        }
        found += (size_t)__builtin_popcountll(mask);
    }
    return found + count_tail(bytes + offset, count - offset);
}

size_t cmachine_count_line_terminators(const void *bytes, size_t count) {
    return __builtin_cpu_supports("avx2") ? count_by_avx2(bytes, count) : count_by_sse2(bytes, count);
}

const char *cmachine_instruction_set(void) { return __builtin_cpu_supports("avx2") ? "AVX2" : "SSE2"; }

#elif defined(__aarch64__)

#include <arm_neon.h>

size_t cmachine_count_line_terminators(const void *memory, size_t count) {
    const uint8_t *bytes = memory;
    const uint8x16_t line_feed = vdupq_n_u8('\n'), carriage_return = vdupq_n_u8('\r');
    size_t found = 0, offset = 0;
    for (; count - offset >= 64; offset += 64) {
        uint8x16_t sum = vdupq_n_u8(0);
        for (int part = 0; part < 4; ++part) {
            const uint8x16_t block = vld1q_u8(bytes + offset + 16 * part);
            // A lane that matches is 255, which is -1.
            sum = vsubq_u8(sum, vorrq_u8(vceqq_u8(block, line_feed), vceqq_u8(block, carriage_return)));
        }
        found += vaddvq_u8(sum);
    }
    return found + count_tail(bytes + offset, count - offset);
}

const char *cmachine_instruction_set(void) { return "NEON"; }

#else

size_t cmachine_count_line_terminators(const void *bytes, size_t count) { return count_tail(bytes, count); }

const char *cmachine_instruction_set(void) { return "bytes"; }

#endif

size_t cmachine_count_line_feeds_by_memchr(const void *memory, size_t count) {
    const uint8_t *position = memory, *const end = position + count;
    size_t found = 0;
    while (position < end && (position = memchr(position, '\n', (size_t)(end - position))) != NULL) {
        ++found;
        ++position;
    }
    return found;
}

uint8_t cmachine_copy(void *buffer, const void *memory, size_t count, size_t piece_count) {
    const uint8_t *bytes = memory;
    for (size_t offset = 0; offset < count; offset += piece_count) {
        const size_t remaining = count - offset;
        memcpy(buffer, bytes + offset, remaining < piece_count ? remaining : piece_count);
        // The compiler must believe that somebody reads the buffer between two copies.
        __asm__ volatile("" : : "r"(buffer) : "memory");
    }
    return count == 0 ? 0 : *(volatile uint8_t *)buffer;
}
