// The moments at which paced messages are due: a heap of the connections, the earliest first, and a timer for it.
#include "Server.h"

#include <math.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

// The time after which a connection that has not written its last message is asked again.
static const double patience = 1e6;

static connection **heap;
static size_t heap_count, heap_capacity;
static int timer = -1;
static double armed; // the moment that the timer is set to; 0: none
static bool is_open; // whether enough responses have been requested

static void put(connection *placed, size_t index) {
    heap[index] = placed;
    placed->place = index + 1;
}

static void rise(size_t index) {
    connection *rising = heap[index];
    for (; index > 0 && heap[(index - 1) / 2]->wakes > rising->wakes; index = (index - 1) / 2)
        put(heap[(index - 1) / 2], index);
    put(rising, index);
}

static void sink(size_t index) {
    connection *sinking = heap[index];
    for (size_t child; (child = 2 * index + 1) < heap_count; index = child) {
        if (child + 1 < heap_count && heap[child + 1]->wakes < heap[child]->wakes) child++;
        if (heap[child]->wakes >= sinking->wakes) break;
        put(heap[child], index);
    }
    put(sinking, index);
}

// A share of an interval, the same sequence in every process.
static double share(void) {
    static uint64_t state = 0x9E3779B97F4A7C15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / (double)(1ull << 53);
}

int pace_start(void) { return timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC); }

void pace_clear(void) {
    uint64_t expired;
    if (read(timer, &expired, sizeof expired) > 0) armed = 0;
}

bool pace_add(connection *added, const options *options) {
    if (added->place > 0) return is_open;
    if (heap_count == heap_capacity) {
        heap_capacity = heap_capacity ? 2 * heap_capacity : 64;
        heap = realloc(heap, heap_capacity * sizeof *heap);
    }
    added->wakes = INFINITY;
    put(added, heap_count++);
    if (heap_count < options->held_count && !is_open) return false;
    // Spread over the interval, so that each moment has about the same number.
    double now = (double)moment();
    for (size_t index = is_open ? heap_count - 1 : 0; index < heap_count; index++) {
        heap[index]->next_due = heap[index]->wakes = now + 1e9 / options->rate * share();
        rise(index);
    }
    return is_open = true;
}

void pace_remove(connection *removed) {
    size_t index = removed->place;
    if (index-- == 0) return;
    removed->place = 0;
    connection *last = heap[--heap_count];
    if (last == removed) return;
    put(last, index);
    rise(index);
    sink(last->place - 1);
}

connection *pace_due(double now) { return heap_count > 0 && heap[0]->wakes <= now ? heap[0] : NULL; }

void pace_go_on(connection *paced, const options *options) {
    paced->next_due += 1e9 / options->rate * (options->jitters ? 0.5 + share() : 1);
    paced->wakes = paced->next_due;
    sink(paced->place - 1);
}

void pace_wait(connection *paced, double now) {
    paced->wakes = now + patience;
    sink(paced->place - 1);
}

void pace_arm(void) {
    double wakes = heap_count > 0 && heap[0]->wakes < INFINITY ? heap[0]->wakes : 0;
    if (timer < 0 || wakes == armed) return;
    armed = wakes;
    uint64_t nanoseconds = (uint64_t)wakes;
    struct itimerspec setting = {{0, 0}, {(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL);
}
