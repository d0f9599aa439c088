// How long a message takes to a thread that waits for it in a system call.
#define _GNU_SOURCE
#include "Channel.h"

#include "CStreamScript.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    uint64_t *latencies;
    size_t count, capacity;
} stamps;

static bool note_stamp(void *state, uint8_t first_byte, const uint8_t *payload, size_t count) {
    (void)first_byte;
    static const char name[] = "\"delta\":\"";
    stamps *stamps = state;
    uint64_t now = cbc_moment();
    const char *found = memmem(payload, count, name, sizeof name - 1);
    uint64_t sent = found ? css_moment(found + sizeof name - 1, 19) : 0;
    if (sent > 0 && stamps->count < stamps->capacity) stamps->latencies[stamps->count++] = now - sent;
    return stamps->count < stamps->capacity && !memmem(payload, count, "response.completed", 18);
}

size_t cbc_latencies(uint16_t port, uint64_t *latencies, size_t capacity) {
    stamps stamps = {.latencies = latencies, .capacity = capacity};
    channel channel;
    cbc_server server = {.port = port};
    if (open_channel(&channel, server)) read_pieces(&channel, server, note_stamp, &stamps, NULL);
    close_channel(&channel);
    return stamps.count;
}

typedef struct {
    int descriptor;
    uint64_t *latencies;
    size_t count;
} sleeper;

static void *wake_up(void *argument) {
    sleeper *sleeper = argument;
    for (size_t index = 0; index < sleeper->count; index++) {
        struct pollfd ready = {.fd = sleeper->descriptor, .events = POLLIN};
        poll(&ready, 1, -1);
        uint64_t sent;
        if (read(sleeper->descriptor, &sent, sizeof sent) == sizeof sent)
            sleeper->latencies[index] = cbc_moment() - sent;
    }
    return NULL;
}

size_t cbc_thread_wakes(uint64_t *latencies, size_t count) {
    sleeper sleeper = {.descriptor = eventfd(0, EFD_CLOEXEC), .latencies = latencies, .count = count};
    pthread_t thread;
    if (pthread_create(&thread, NULL, wake_up, &sleeper) != 0) return 0;
    for (size_t index = 0; index < count; index++) {
        usleep(1000);
        // The descriptor's counter is zero, and so what is read is what was written.
        uint64_t now = cbc_moment();
        if (write(sleeper.descriptor, &now, sizeof now) != sizeof now) abort();
    }
    pthread_join(thread, NULL);
    close(sleeper.descriptor);
    return count;
}

// MARK: To and fro

enum { BALL_SIZE = 250 };

// A connection over the loopback, both of whose ends are here.
static bool make_pair(int pair[2]) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_made = bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0
                   && getsockname(listener, (struct sockaddr *)&address, &length) == 0
                   && connect(pair[0], (struct sockaddr *)&address, length) == 0;
    pair[1] = is_made ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    for (int end = 0; end < 2; end++) setsockopt(pair[end], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    close(listener);
    return pair[1] >= 0;
}

static void throw_back(int descriptor, int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (core >= 0) sched_setaffinity(0, sizeof cores, &cores);
    char ball[BALL_SIZE];
    while (recv(descriptor, ball, sizeof ball, MSG_WAITALL) == sizeof ball)
        if (write(descriptor, ball, sizeof ball) != sizeof ball) break;
}

size_t cbc_round_trips(int core, uint64_t *durations, size_t count) {
    int pair[2];
    if (!make_pair(pair)) return 0;
    pid_t other = fork();
    if (other == 0) {
        close(pair[0]);
        throw_back(pair[1], core);
        _exit(0);
    }
    close(pair[1]);
    char ball[BALL_SIZE] = {0};
    size_t done = 0;
    for (; other > 0 && done < count; done++) {
        uint64_t start = cbc_moment();
        if (write(pair[0], ball, sizeof ball) != sizeof ball) break;
        if (recv(pair[0], ball, sizeof ball, MSG_WAITALL) != sizeof ball) break;
        durations[done] = cbc_moment() - start;
    }
    close(pair[0]);
    if (other > 0) waitpid(other, NULL, 0);
    return done;
}
