// How fast a core is while something else is measured on it: a loop that always does the same is timed now and then.
#define _GNU_SOURCE
#include "CMachine.h"

#include <math.h>
#include <time.h>

double cmachine_moment(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

#if defined(__linux__)

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /// Microseconds between two samples.
    PERIOD = 2000,
    /// How many words are read, half of the nearest cache, and how often a sample reads them: some microseconds.
    WORDS = 2048,
    PASSES = 30,
    /// How many samples are kept: an hour of them.
    CAPACITY = 1800000,
    /// The fastest sample is the one of which there are so many, or faster ones: a single one may be an accident.
    FASTEST = 5,
};

/// A sample says nothing of a moment that is so much earlier or later, in seconds.
static const double LONGEST_GAP = 0.1;

/// A sample that is so near the fastest was taken on a core that nobody shared.
static const double WHOLE = 0.85;

static uint64_t memory[WORDS];
static volatile uint64_t sink;

typedef struct {
    /// When it was taken, in seconds of the monotonic clock.
    double moment;
    /// What it took, in seconds.
    double time;
} sample;

static struct {
    sample *samples;
    atomic_size_t count;
    /// The times of the fastest ones, the last one first to go.
    _Atomic double fastest[FASTEST];
    /// The fastest that any process has seen since the machine was started, in seconds; infinite when none has.
    double known;
} pace;

// Four loads a step, from memory that is as near as can be: as many as a core has room for.
static uint64_t read_through(int passes) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (int pass = 0; pass < passes; pass++)
        for (size_t index = 0; index < WORDS; index += 4) {
            a += memory[index], b ^= memory[index + 1], c += memory[index + 2], d ^= memory[index + 3];
            __asm__ volatile("" ::"r"(a), "r"(b), "r"(c), "r"(d));
        }
    return a ^ b ^ c ^ d;
}

static sample take(void) {
    // Once for nothing: whatever ran here before has taken its place.
    sink += read_through(1);
    double start = cmachine_moment();
    sink += read_through(PASSES);
    return (sample){.moment = start, .time = cmachine_moment() - start};
}

static void note(double time) {
    for (int index = 0; index < FASTEST; index++) {
        double other = pace.fastest[index];
        if (time >= other) continue;
        pace.fastest[index] = time;
        time = other;
    }
}

// MARK: What other processes have seen

// CORE_PACE_FILE names a file with the machine's start, the size of a sample and the time of the fastest one: a process
// that is short may never see a core that nobody shares.
static void boot_identifier(char *text, size_t capacity) {
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (!file || !fgets(text, (int)capacity, file)) snprintf(text, capacity, "unknown");
    text[strcspn(text, "\n")] = 0;
    if (file) fclose(file);
}

static double read_known(void) {
    const char *path = getenv("CORE_PACE_FILE");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) return INFINITY;
    char machine[64], expected[64];
    int words, passes;
    double time;
    boot_identifier(expected, sizeof expected);
    bool is_read = fscanf(file, "%63s %d %d %lf", machine, &words, &passes, &time) == 4;
    fclose(file);
    bool is_same = is_read && strcmp(machine, expected) == 0 && words == WORDS && passes == PASSES;
    return is_same && time > 0 ? time : INFINITY;
}

static void write_known(void) {
    const char *path = getenv("CORE_PACE_FILE");
    if (!path) return;
    char unfinished[4096], machine[64];
    boot_identifier(machine, sizeof machine);
    snprintf(unfinished, sizeof unfinished, "%s.%d", path, (int)getpid());
    FILE *file = fopen(unfinished, "w");
    if (!file) return;
    fprintf(file, "%s %d %d %.9f\n", machine, WORDS, PASSES, pace.known);
    if (fclose(file) != 0 || rename(unfinished, path) != 0) remove(unfinished);
}

// The time of the fastest sample.
static double fastest(void) {
    double seen = pace.fastest[FASTEST - 1];
    if (seen < pace.known * 0.99) {
        pace.known = seen;
        write_known();
    }
    return fmin(seen, pace.known);
}

// MARK: Sampling

static void *sample_for_ever(void *unused) {
    (void)unused;
    // Whoever may not do that takes its turn among the others.
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (size_t index = 0; index < CAPACITY; index++) {
        pace.samples[index] = take();
        note(pace.samples[index].time);
        atomic_store_explicit(&pace.count, index + 1, memory_order_release);
        next.tv_nsec += PERIOD * 1000;
        if (next.tv_nsec >= 1000000000) next.tv_sec++, next.tv_nsec -= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return NULL;
}

// Starts the thread on its core; false when there is no such core.
static bool start_on(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool is_started = pthread_attr_setaffinity_np(&attributes, sizeof cores, &cores) == 0 &&
                      pthread_create(&thread, &attributes, sample_for_ever, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return is_started;
}

bool cmachine_pace_start(int core) {
    if (pace.samples || core < 0 || core >= CPU_SETSIZE) return pace.samples != NULL;
    pace.samples = calloc(CAPACITY, sizeof *pace.samples);
    pace.known = read_known();
    for (int index = 0; index < FASTEST; index++) pace.fastest[index] = INFINITY;
    if (pace.samples && start_on(core)) return true;
    free(pace.samples);
    pace.samples = NULL;
    return false;
}

// The first sample that is not before a moment.
static size_t first(size_t count, double moment) {
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (pace.samples[middle].moment < moment)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

double cmachine_pace(double start, double end) {
    size_t count = atomic_load_explicit(&pace.count, memory_order_acquire);
    size_t from = first(count, start), to = first(count, end);
    // The sample before and the one behind it: a short time has none of its own.
    if (from > 0) from--;
    if (to < count) to++;
    if (from == to) return NAN;
    if (pace.samples[from].moment - start > LONGEST_GAP || end - pace.samples[to - 1].moment > LONGEST_GAP) return NAN;
    double time = fastest(), sum = 0;
    if (!isfinite(time)) return NAN;
    for (size_t index = from; index < to; index++) {
        double share = time / pace.samples[index].time;
        sum += share > WHOLE ? 1 : share;
    }
    return sum / (double)(to - from);
}

#else

bool cmachine_pace_start(int core) {
    (void)core;
    return false;
}

double cmachine_pace(double start, double end) {
    (void)start;
    (void)end;
    return NAN;
}

#endif
