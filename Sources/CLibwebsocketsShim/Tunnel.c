// Tunnels through proxies (RFC 9110 section 9.3.6): what a socket exchanges before libwebsockets has it.
//
// libwebsockets waits until its socket can be written to, and then goes on. While a tunnel is asked for, a descriptor
// that is never ready has the socket's number, and the socket has another one, which is watched here. Once the tunnel
// stands the socket gets its number back, and libwebsockets finds a connection like any other, with TLS or without.
#define _GNU_SOURCE // dup3
#include "Internal.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/epoll.h>
#include <sys/timerfd.h>
#else
#include <sys/event.h>
#endif

enum {
    PIECE_SIZE = 16384,
    // Sockets that are looked at before others of the loop have their turn.
    BATCH_COUNT = 64,
};

struct clws_tunnels {
    // What the sockets are watched with. Not with the loop: libev forgets a descriptor when it is closed, and epoll
    // does not when the socket lives on under another number.
    int watcher;
    struct ev_loop *loop; // NULL: libwebsockets' own poll loop
};

struct clws_tunnel {
    clws_tunnels *tunnels;
    struct lws *wsi;
    int socket; // -1: libwebsockets has it
    bool is_beginning;
    bool is_destroyed;
    bool is_connected;
    bool is_open;
    uint64_t answer_byte_count;
    size_t sent_count;
    size_t request_count;
    uint8_t request[];
};

// MARK: Descriptors

// A descriptor that is never ready; -1 when there is none left.
static int make_placeholder(void) {
#ifdef __linux__
    return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); // a timer that is not set
#else
    return kqueue(); // a queue of nothing
#endif
}

// Makes `number` stand for what `descriptor` is, and closes `descriptor`.
static bool move_descriptor(int descriptor, int number) {
    int result;
    do {
#ifdef __linux__
        result = dup3(descriptor, number, O_CLOEXEC);
#else
        result = dup2(descriptor, number);
        if (result >= 0) fcntl(number, F_SETFD, FD_CLOEXEC);
#endif
    } while (result < 0 && errno == EINTR);
    int code = errno;
    close(descriptor);
    errno = code;
    return result >= 0;
}

static bool wants_to_write(const clws_tunnel *tunnel) { return tunnel->sent_count < tunnel->request_count; }

#ifdef __linux__

static int make_watcher(void) { return epoll_create1(EPOLL_CLOEXEC); }

static bool watch(clws_tunnel *tunnel, bool is_new) {
    struct epoll_event event = {.data.ptr = tunnel};
    if (tunnel->is_connected) event.events |= EPOLLIN;
    if (wants_to_write(tunnel)) event.events |= EPOLLOUT;
    return epoll_ctl(tunnel->tunnels->watcher, is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, tunnel->socket, &event) == 0;
}

static void forget(clws_tunnel *tunnel) {
    epoll_ctl(tunnel->tunnels->watcher, EPOLL_CTL_DEL, tunnel->socket, NULL);
}

static clws_tunnel *next_ready(clws_tunnels *tunnels) {
    struct epoll_event event;
    return epoll_wait(tunnels->watcher, &event, 1, 0) == 1 ? event.data.ptr : NULL;
}

#else

static int make_watcher(void) { return kqueue(); }

static bool change(clws_tunnel *tunnel, short filter, bool is_wanted) {
    struct kevent event;
    EV_SET(&event, tunnel->socket, filter, is_wanted ? EV_ADD : EV_DELETE, 0, 0, tunnel);
    return kevent(tunnel->tunnels->watcher, &event, 1, NULL, 0, NULL) == 0 || !is_wanted;
}

static bool watch(clws_tunnel *tunnel, bool is_new) {
    (void)is_new;
    return change(tunnel, EVFILT_READ, tunnel->is_connected) && change(tunnel, EVFILT_WRITE, wants_to_write(tunnel));
}

static void forget(clws_tunnel *tunnel) {
    change(tunnel, EVFILT_READ, false);
    change(tunnel, EVFILT_WRITE, false);
}

static clws_tunnel *next_ready(clws_tunnels *tunnels) {
    struct kevent event;
    struct timespec now = {0};
    return kevent(tunnels->watcher, NULL, 0, &event, 1, &now) == 1 ? event.udata : NULL;
}

#endif

static void ignore(struct ev_loop *loop, ev_io *watcher, int events) {
    (void)loop;
    (void)watcher;
    (void)events;
}

// A watcher that starts makes libev take the descriptor for a new one, and tell the system of it again.
static void renew(clws_tunnels *tunnels, int descriptor) {
    if (!tunnels->loop) return;
    ev_io watcher;
    ev_io_init(&watcher, ignore, descriptor, 0);
    ev_io_start(tunnels->loop, &watcher);
    ev_io_stop(tunnels->loop, &watcher);
}

// Gives libwebsockets its socket back.
static bool give_back(clws_tunnel *tunnel) {
    int number = lws_get_socket_fd(tunnel->wsi), socket = tunnel->socket;
    forget(tunnel);
    tunnel->socket = -1;
    if (!move_descriptor(socket, number)) return false;
    renew(tunnel->tunnels, number);
    return true;
}

// MARK: The exchange

// Reports an event; false when the connection has ended with it.
static bool tell(clws_tunnel *tunnel, clws_event event, void *bytes, size_t count) {
    struct lws *wsi = tunnel->wsi;
    if (clws_report(wsi, event, bytes, count) == 0) return true;
    clws_kill((clws_stream *)wsi);
    return false;
}

static bool finish_connecting(clws_tunnel *tunnel) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(tunnel->socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error) {
        clws_attempt_fail(lws_wsi_user(tunnel->wsi), tunnel->wsi, error);
        return false;
    }
    tunnel->is_connected = true;
    watch(tunnel, false);
    return tell(tunnel, CLWS_EVENT_TCP_CONNECTED, NULL, 0);
}

static void ask(clws_tunnel *tunnel) {
    ssize_t count = send(tunnel->socket, tunnel->request + tunnel->sent_count,
                         tunnel->request_count - tunnel->sent_count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0)
        tunnel->sent_count += (size_t)count;
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        tunnel->sent_count = tunnel->request_count; // what the proxy has said before is still to be read
    if (!wants_to_write(tunnel)) watch(tunnel, false);
}

static void read_answer(clws_tunnel *tunnel) {
    uint8_t piece[PIECE_SIZE];
    // Only looked at: what comes behind the answer is not the proxy's.
    ssize_t count = recv(tunnel->socket, piece, sizeof piece, MSG_PEEK | MSG_DONTWAIT);
    if (count > 0)
        tell(tunnel, CLWS_EVENT_TUNNEL_ANSWERED, piece, (size_t)count);
    else if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        tell(tunnel, CLWS_EVENT_TUNNEL_ENDED, NULL, 0);
}

void clws_tunnels_ready(clws_tunnels *tunnels) {
    // One at a time, because what is told of one may end another.
    for (int count = 0; count < BATCH_COUNT; count++) {
        clws_tunnel *tunnel = next_ready(tunnels);
        if (!tunnel) return;
        if (!tunnel->is_connected && !finish_connecting(tunnel)) continue;
        if (wants_to_write(tunnel)) ask(tunnel);
        read_answer(tunnel);
    }
}

void clws_tunnel_take(clws_stream *stream, size_t count) {
    clws_tunnel *tunnel = clws_attempt_tunnel(lws_wsi_user((struct lws *)stream));
    tunnel->answer_byte_count += count;
    uint8_t piece[PIECE_SIZE];
    while (count > 0) {
        ssize_t taken = recv(tunnel->socket, piece, count < sizeof piece ? count : sizeof piece, MSG_DONTWAIT);
        if (taken < 0 && errno == EINTR) continue;
        if (taken <= 0) return;
        count -= (size_t)taken;
    }
}

bool clws_tunnel_open(clws_stream *stream) {
    clws_tunnel *tunnel = clws_attempt_tunnel(lws_wsi_user((struct lws *)stream));
    tunnel->is_open = give_back(tunnel);
    return tunnel->is_open;
}

// MARK: The life of a tunnel

clws_tunnels *clws_tunnels_create(struct lws_vhost *vhost, struct ev_loop *loop, const char *protocol) {
    clws_tunnels *tunnels = calloc(1, sizeof *tunnels);
    if (!tunnels) return NULL;
    tunnels->loop = loop;
    tunnels->watcher = make_watcher();
    lws_sock_file_fd_type descriptor = {.filefd = tunnels->watcher};
    if (tunnels->watcher >= 0 && lws_adopt_descriptor_vhost(vhost, LWS_ADOPT_RAW_FILE_DESC, descriptor, protocol, NULL))
        return tunnels;
    free(tunnels);
    return NULL;
}

clws_tunnel *clws_tunnel_create(clws_tunnels *tunnels, const uint8_t *request, size_t count) {
    clws_tunnel *tunnel = calloc(1, sizeof *tunnel + count);
    if (!tunnel) return NULL;
    tunnel->tunnels = tunnels;
    tunnel->socket = -1;
    tunnel->is_beginning = true;
    tunnel->request_count = count;
    memcpy(tunnel->request, request, count);
    return tunnel;
}

// Takes the socket, which is connecting, away from libwebsockets.
static bool take_over(clws_tunnel *tunnel) {
    int number = lws_get_socket_fd(tunnel->wsi);
    if (number < 0) return false;
    tunnel->socket = fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (tunnel->socket < 0) return false;
    int placeholder = make_placeholder();
    return placeholder >= 0 && move_descriptor(placeholder, number) && watch(tunnel, true);
}

bool clws_tunnel_begin(clws_tunnel *tunnel, struct lws *wsi) {
    if (!tunnel->is_destroyed && wsi) {
        tunnel->wsi = wsi;
        // A socket that connects at once has no moment in which it could be taken.
        if (!tunnel->is_connected && take_over(tunnel)) {
            tunnel->is_beginning = false;
            return true;
        }
        int code = errno;
        lws_set_opaque_user_data(wsi, NULL); // nothing more is reported of it
        clws_kill((clws_stream *)wsi);
        errno = code;
    }
    if (tunnel->socket >= 0) close(tunnel->socket);
    free(tunnel);
    return false;
}

void clws_tunnel_connected(clws_tunnel *tunnel, struct lws *wsi) {
    if (tunnel->is_open) return;
    tunnel->is_connected = true;
    // Nothing goes to a proxy that was not asked for a tunnel.
    shutdown(lws_get_socket_fd(wsi), SHUT_RDWR);
}

uint64_t clws_tunnel_answer_byte_count(const clws_tunnel *tunnel) { return tunnel->answer_byte_count; }

void clws_tunnel_end(clws_tunnel *tunnel) {
    if (tunnel->is_beginning) {
        tunnel->is_destroyed = true;
        return;
    }
    if (tunnel->socket >= 0) {
        forget(tunnel);
        close(tunnel->socket);
    }
    free(tunnel);
}
