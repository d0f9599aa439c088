// usage: stream-server flood|idle|pace|turns|drop [--messages N] [--pause-after N] [--rate N] [--jitter] [--held N]
//            [--tls FILE] [--deflate] [--gzip] [--core N]
//
// Prints the port that it listens on at 127.0.0.1, and ends when its standard input ends. With --tls it writes its
// certificate to FILE. Over a WebSocket any message of the client requests a response; any other request is answered
// with an event stream, in a flood at a path that ends with /chat/completions with one of Chat Completions, which is
// not compressed. Paced responses are not compressed, and begin when N have been requested with --held N; with --jitter
// each interval has half to one and a half of its length. At its end the server prints the number of the paced
// messages, the sum of their moments, modulo 2^64, and how many were a millisecond late or more. With --pause-after N a
// flood stops after N messages, and again after the last: each time until a byte arrives on standard input. With turns,
// a response begins with one message, and each byte on standard input asks for a message of the next one. With drop,
// for WebSockets without TLS, binary messages are compared with css_upload and dropped, and a text message is answered
// with the number of those that have come since the last one, and of those that differed.
#define _GNU_SOURCE
#include "Server.h"

#include "CStreamScript.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENT_COUNT = 512, LATE_NANOSECONDS = 1000000, TURN_NANOSECONDS = 2000000 };

static options settings = {.core = -1};
static script content[FORM_COUNT];
static SSL_CTX *tls_context;
int poller;
static connection *listed; // connections that standard input lets write
static connection *next_turn; // the one of them whose turn it is; NULL: the first
static uint64_t paced_count, paced_sum, late_count; // the paced messages, the sum of their moments, the late ones

uint64_t moment(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void drop(connection *dropped) {
    for (connection **link = &listed; *link; link = &(*link)->next)
        if (*link == dropped) {
            *link = dropped->next;
            if (next_turn == dropped) next_turn = dropped->next;
            break;
        }
    pace_remove(dropped);
    SSL_free(dropped->tls);
    close(dropped->descriptor);
    free(dropped->input);
    free(dropped);
}

// Receives and sends as much as possible; false when the client is gone.
static bool serve(connection *served) {
    if (served->state == STATE_TLS) {
        int result = SSL_accept(served->tls);
        if (result != 1) return SSL_get_error(served->tls, result) == SSL_ERROR_WANT_READ;
        served->state = STATE_HEAD;
    }
    if (!receive(served, &settings, content)) return false;
    bool is_led = settings.pause_after > 0 || settings.mode == MODE_TURNS;
    if (is_led && served->state == STATE_STREAM && !served->is_listed) {
        served->is_listed = true;
        served->next = listed;
        listed = served;
    }
    return flush(served, &settings, content);
}

static void welcome(int listener) {
    int descriptor;
    while ((descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        int on = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connection *made = calloc(1, sizeof *made);
        made->descriptor = descriptor;
        made->state = settings.uses_tls ? STATE_TLS : STATE_HEAD;
        if (settings.uses_tls) {
            made->tls = SSL_new(tls_context);
            SSL_set_fd(made->tls, descriptor);
        }
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = made};
        epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event);
    }
}

// Writes to a client; the loop drops the connection of one that is gone: it may hold an event for it.
static void write_to(connection *written) {
    if (!flush(written, &settings, content)) shutdown(written->descriptor, SHUT_RDWR);
}

// Writes the next message of a response, with the moment in its text; returns that moment.
static uint64_t write_stamped(connection *due) {
    uint8_t message[CSS_MESSAGE_SIZE], event[CSS_MESSAGE_SIZE + FORM_OVERHEAD];
    uint64_t sent = moment();
    css_stamped_message(due->sent_count++, sent, message);
    say(due, event, write_delta(due->form, event, message));
    write_to(due);
    return sent;
}

// Gives every connection that is due its next message.
static void tick(void) {
    double now = (double)moment();
    for (connection *due; (due = pace_due(now)) != NULL;) {
        if (due->state == STATE_STREAM && !due->has_begun) write_to(due);
        if (due->state != STATE_STREAM || !due->has_begun || due->output_count > 0) {
            pace_wait(due, now);
            continue;
        }
        double planned = due->next_due;
        pace_go_on(due, &settings);
        if (due->sent_count + 1 >= settings.message_count) pace_remove(due);
        if (due->sent_count >= settings.message_count) continue;
        uint64_t sent = write_stamped(due);
        paced_count++;
        paced_sum += sent;
        if ((double)sent >= planned + LATE_NANOSECONDS) late_count++;
    }
}

// Gives the next connection a message, when the threads of the client, which has asked for it, are likely to be asleep.
static void take_turn(void) {
    const struct timespec rest = {.tv_nsec = TURN_NANOSECONDS};
    nanosleep(&rest, NULL);
    connection *taken = next_turn ? next_turn : listed;
    if (!taken) return;
    next_turn = taken->next;
    write_stamped(taken);
}

// Ends the pause of every connection, or gives the next one its turn; false at the end of standard input, which ends the server.
static bool go_on(void) {
    char byte;
    if (read(STDIN_FILENO, &byte, 1) <= 0) return false;
    if (settings.mode == MODE_TURNS) {
        take_turn();
        return true;
    }
    settings.permitted++;
    for (connection *paused = listed; paused; paused = paused->next) write_to(paused);
    return true;
}

static int listen_anywhere(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 4096) != 0) return -1;
    getsockname(listener, (struct sockaddr *)&address, &length);
    printf("%u\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static bool read_options(int count, char **arguments) {
    if (count < 2) return false;
    const char *modes[] = {"flood", "idle", "pace", "turns", "drop"};
    int found = -1;
    for (int index = 0; index < 5; index++)
        if (strcmp(arguments[1], modes[index]) == 0) found = index;
    if (found < 0) return false;
    settings.mode = (mode)found;
    for (int index = 2; index < count; index++) {
        const char *name = arguments[index];
        if (strcmp(name, "--deflate") == 0) {
            settings.deflates = true;
            continue;
        }
        if (strcmp(name, "--gzip") == 0) {
            settings.gzips = true;
            continue;
        }
        if (strcmp(name, "--jitter") == 0) {
            settings.jitters = true;
            continue;
        }
        if (++index == count) return false;
        if (strcmp(name, "--messages") == 0) settings.message_count = strtoull(arguments[index], NULL, 10);
        else if (strcmp(name, "--pause-after") == 0) settings.pause_after = strtoull(arguments[index], NULL, 10);
        else if (strcmp(name, "--rate") == 0) settings.rate = strtod(arguments[index], NULL);
        else if (strcmp(name, "--held") == 0) settings.held_count = strtoull(arguments[index], NULL, 10);
        else if (strcmp(name, "--core") == 0) settings.core = atoi(arguments[index]);
        else if (strcmp(name, "--tls") == 0) settings.certificate_path = arguments[index];
        else return false;
    }
    settings.uses_tls = settings.certificate_path != NULL;
    // A response of more than a block consists of whole blocks, unless its messages are made one at a time.
    bool is_whole = settings.message_count <= CSS_BLOCK_COUNT || settings.message_count % CSS_BLOCK_COUNT == 0
                    || settings.mode == MODE_PACE;
    // A pause lies within a block.
    bool can_pause = settings.pause_after == 0
                     || (settings.mode == MODE_FLOOD && settings.message_count <= CSS_BLOCK_COUNT
                         && settings.pause_after < settings.message_count);
    if (settings.mode == MODE_DROP && settings.uses_tls) return false;
    return is_whole && can_pause && (settings.mode != MODE_PACE || settings.rate > 0);
}

static void prepare_process(void) {
    signal(SIGPIPE, SIG_IGN);
    // The parent may have started this process from a thread that blocks signals.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (settings.core < 0) return;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(settings.core, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
}

// Prints what is known of the paced messages; returns the status of the process.
static int print_paced(void) {
    printf(
        "%llu %llu %llu\n", (unsigned long long)paced_count, (unsigned long long)paced_sum,
        (unsigned long long)late_count);
    return fflush(stdout) == 0 ? 0 : 1;
}

int main(int count, char **arguments) {
    if (!read_options(count, arguments)) {
        fprintf(
            stderr,
            "usage: stream-server flood|idle|pace|turns|drop [--messages N] [--pause-after N] [--rate N] [--jitter]\n"
            "           [--held N] [--tls FILE] [--deflate] [--gzip] [--core N]\n"
            "N messages are at most %d, or a multiple of it, unless they are paced. A flood of at most %d pauses\n"
            "behind fewer than all of them, and behind all.\n",
            CSS_BLOCK_COUNT, CSS_BLOCK_COUNT);
        return 2;
    }
    prepare_process();
    make_scripts(&settings, content);
    bool is_flood = settings.mode == MODE_FLOOD, is_paced = settings.mode == MODE_PACE;
    if (settings.uses_tls && !(tls_context = make_tls_context(settings.certificate_path, is_flood))) return 1;
    poller = epoll_create1(EPOLL_CLOEXEC);
    int timer = is_paced ? pace_start() : -1, listener = listen_anywhere();
    // A source that is not a connection is recognized by the address of its descriptor.
    int own[] = {listener, timer, STDIN_FILENO};
    for (size_t index = 0; index < 3; index++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &own[index]};
        if (own[index] >= 0) epoll_ctl(poller, EPOLL_CTL_ADD, own[index], &event);
    }
    struct epoll_event events[EVENT_COUNT];
    while (true) {
        if (is_paced) pace_arm();
        int ready = epoll_wait(poller, events, EVENT_COUNT, -1);
        for (int index = 0; index < ready; index++) {
            void *source = events[index].data.ptr;
            if (source == &own[0]) {
                welcome(listener);
            } else if (source == &own[1]) {
                pace_clear();
                tick();
            } else if (source == &own[2]) {
                if (!go_on()) return is_paced ? print_paced() : 0;
            } else if (!serve(source)) {
                drop(source);
            }
        }
    }
}
