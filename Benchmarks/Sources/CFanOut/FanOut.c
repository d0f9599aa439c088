#define _GNU_SOURCE
#include "CFanOut.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// A text is "@", the time in this many digits, and words.
#define DIGITS 16
#define WORDS " scatters blue light more than red light. "
#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

static uint64_t moment(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wait_until(uint64_t time) {
    struct timespec end = {(time_t)(time / 1000000000u), (long)(time % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {}
}

static int write_all(int descriptor, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write(descriptor, bytes, count);
        if (written <= 0) return 0;
        bytes += written;
        count -= (size_t)written;
    }
    return 1;
}

void cfo_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

uint64_t cfo_processor_time(pid_t process) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int listen_on_loopback(void) {
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 4096) != 0
        || getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        return -1;
    }
    printf("port %u\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static int accept_one(int listener) {
    static const int yes = 1;
    int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (descriptor >= 0) setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return descriptor;
}

// Reads a request with its body.
static int read_request(int descriptor) {
    char bytes[65536];
    size_t count = 0;
    while (count < sizeof bytes - 1) {
        ssize_t read_now = read(descriptor, bytes + count, sizeof bytes - 1 - count);
        if (read_now <= 0) return 0;
        count += (size_t)read_now;
        bytes[count] = 0;
        char *end = strstr(bytes, "\r\n\r\n");
        if (end == NULL) continue;
        char *length = strcasestr(bytes, "content-length:");
        size_t body = length != NULL && length < end ? strtoul(length + 15, NULL, 10) : 0;
        if (count >= (size_t)(end + 4 - bytes) + body) return 1;
    }
    return 0;
}

int cfo_serve_upstream(cfo_stream stream, unsigned delay) {
    static const char last[] =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    int listener = listen_on_loopback();
    if (listener < 0) return 1;
    for (;;) {
        int descriptor = accept_one(listener);
        if (descriptor < 0 || !read_request(descriptor) || !write_all(descriptor, HEAD, sizeof HEAD - 1)) {
            close(descriptor);
            continue;
        }
        uint64_t begin = moment() + (uint64_t)delay * 1000;
        int is_open = 1;
        for (unsigned number = 0; is_open && number < stream.count; number++) {
            char event[256];
            wait_until(begin + (uint64_t)number * stream.interval * 1000);
            int count = snprintf(
                event, sizeof event,
                "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":"
                "{\"content\":\"@%016" PRIu64 WORDS "\"}}]}\n\n", moment());
            is_open = write_all(descriptor, event, (size_t)count);
        }
        if (is_open) write_all(descriptor, last, sizeof last - 1);
        close(descriptor);
    }
}

int cfo_serve_bare(cfo_stream stream, unsigned viewers) {
    int *descriptors = calloc(viewers, sizeof *descriptors);
    int listener = listen_on_loopback();
    if (listener < 0 || descriptors == NULL) return 1;
    for (unsigned viewer = 0; viewer < viewers; viewer++) {
        descriptors[viewer] = accept_one(listener);
        if (descriptors[viewer] < 0 || !read_request(descriptors[viewer])) return 1;
        write_all(descriptors[viewer], HEAD, sizeof HEAD - 1);
    }
    uint64_t next = moment();
    for (unsigned number = 0; number < stream.count; number++, next += (uint64_t)stream.interval * 1000) {
        char event[256];
        wait_until(next);
        int count = snprintf(
            event, sizeof event, "id: %u\nevent: text\ndata: \"@%016" PRIu64 WORDS "\"\n\n", number + 1, moment());
        for (unsigned viewer = 0; viewer < viewers; viewer++) {
            if (write(descriptors[viewer], event, (size_t)count) != count) return 1;
        }
    }
    for (unsigned viewer = 0; viewer < viewers; viewer++) close(descriptors[viewer]);
    return 0;
}

// MARK: Viewers

static int connect_to(uint16_t port) {
    static const int yes = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

int cfo_start_stream(uint16_t port, char *path, size_t capacity) {
    static const char body[] = "{\"input\":\"Why is the sky blue?\",\"model\":\"m\"}";
    char bytes[4096];
    size_t count = 0;
    ssize_t read_now;
    int descriptor = connect_to(port);
    int size = snprintf(
        bytes, sizeof bytes,
        "POST /streams HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
        sizeof body - 1, body);
    if (descriptor < 0 || !write_all(descriptor, bytes, (size_t)size)) return 0;
    while ((read_now = read(descriptor, bytes + count, sizeof bytes - 1 - count)) > 0) count += (size_t)read_now;
    close(descriptor);
    bytes[count] = 0;
    char *found = strstr(bytes, "\"url\":\"");
    if (found == NULL) return 0;
    size_t length = strcspn(found + 7, "\"");
    if (length >= capacity) return 0;
    memcpy(path, found + 7, length);
    path[length] = 0;
    return 1;
}

typedef struct {
    int descriptor;
    size_t kept;
    char rest[DIGITS];
} viewer;

// Looks for the times of texts in what has arrived, and keeps what may be the beginning of one.
static size_t take(viewer *viewer, char *bytes, size_t count, uint64_t now, uint64_t *latencies, size_t room) {
    size_t taken = 0;
    char *end = bytes + count;
    char *found = bytes;
    while ((found = memchr(found, '@', (size_t)(end - found))) != NULL && end - found > DIGITS) {
        uint64_t sent = 0;
        for (int digit = 1; digit <= DIGITS; digit++) sent = sent * 10 + (uint64_t)(found[digit] - '0');
        if (taken < room) latencies[taken++] = now - sent;
        found += DIGITS + 1;
    }
    viewer->kept = found == NULL ? 0 : (size_t)(end - found);
    if (found != NULL) memcpy(viewer->rest, found, viewer->kept);
    return taken;
}

size_t cfo_view(
    uint16_t port, const char *path, unsigned viewers, pid_t server, uint64_t *before, uint64_t *latencies,
    size_t capacity) {
    static char bytes[DIGITS + 65536];
    char request[512];
    size_t taken = 0;
    unsigned open = 0;
    *before = 0;
    int size = snprintf(
        request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    viewer *all = calloc(viewers, sizeof *all);
    for (; all != NULL && open < viewers; open++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[open]};
        all[open].descriptor = connect_to(port);
        if (all[open].descriptor < 0 || !write_all(all[open].descriptor, request, (size_t)size)) break;
        epoll_ctl(poll, EPOLL_CTL_ADD, all[open].descriptor, &event);
    }
    while (open > 0) {
        struct epoll_event events[256];
        // A server that is silent for so long has lost its viewers.
        int count = epoll_wait(poll, events, 256, 20000);
        if (count <= 0) break;
        for (int index = 0; index < count; index++) {
            viewer *viewer = events[index].data.ptr;
            memcpy(bytes, viewer->rest, viewer->kept);
            ssize_t read_now = read(viewer->descriptor, bytes + viewer->kept, 65536);
            if (read_now > 0) {
                taken += take(
                    viewer, bytes, viewer->kept + (size_t)read_now, moment(), latencies + taken, capacity - taken);
            }
            if (*before == 0 && taken > 0) *before = cfo_processor_time(server);
            // The end: of the connection, or of the body in chunks.
            if (read_now <= 0 || memmem(bytes, (size_t)read_now, "\r\n0\r\n\r\n", 7) != NULL) {
                close(viewer->descriptor);
                open--;
            }
        }
    }
    free(all);
    close(poll);
    return taken;
}
