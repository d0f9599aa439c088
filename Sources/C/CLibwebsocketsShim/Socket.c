// Non-blocking TCP sockets.
#define _GNU_SOURCE // SOCK_NONBLOCK
#include "CLibwebsocketsShim.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/sockios.h>
#endif

static int open_socket(int family) {
#ifdef SOCK_NONBLOCK
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
#else
    int descriptor = socket(family, SOCK_STREAM, 0);
    if (descriptor < 0) return descriptor;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    return descriptor;
#endif
}

static void turn_on(int descriptor, int level, int option) {
    int is_on = 1;
    setsockopt(descriptor, level, option, &is_on, sizeof is_on);
}

static int connect_to(const struct addrinfo *address, bool *has_socket) {
    int descriptor = open_socket(address->ai_family);
    *has_socket = descriptor >= 0;
    if (descriptor < 0) return -errno;
    // Whole requests and frames are written: waiting for more bytes (RFC 896) would only delay them.
    turn_on(descriptor, IPPROTO_TCP, TCP_NODELAY);
#ifdef SO_NOSIGPIPE
    turn_on(descriptor, SOL_SOCKET, SO_NOSIGPIPE);
#endif
    // An interrupted attempt continues, as one in progress does (POSIX connect).
    if (connect(descriptor, address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS || errno == EINTR)
        return descriptor;
    int error = errno;
    close(descriptor);
    return -error;
}

int clws_socket_connect(const char *address, uint16_t port, bool *has_socket) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char service[8];
    *has_socket = false;
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(address, service, &hints, &found) != 0) return -EINVAL;
    int descriptor = connect_to(found, has_socket);
    freeaddrinfo(found);
    return descriptor;
}

int clws_socket_error(int descriptor) {
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

ptrdiff_t clws_socket_read(int descriptor, void *bytes, size_t count) {
    ptrdiff_t taken;
    do
        taken = recv(descriptor, bytes, count, 0);
    while (taken < 0 && errno == EINTR);
    return taken < 0 ? -errno : taken;
}

ptrdiff_t clws_socket_write(int descriptor, const void *bytes, size_t count) {
#ifdef MSG_NOSIGNAL
    const int flags = MSG_NOSIGNAL;
#else
    const int flags = 0;
#endif
    ptrdiff_t given;
    do
        given = send(descriptor, bytes, count, flags);
    while (given < 0 && errno == EINTR);
    return given < 0 ? -errno : given;
}

bool clws_socket_is_writable(int descriptor) {
    struct pollfd request = {.fd = descriptor, .events = POLLOUT};
    return poll(&request, 1, 0) == 1 && request.revents == POLLOUT;
}

void clws_socket_watch_peer(int descriptor, int idle_seconds, int probe_seconds, int silence_milliseconds) {
    turn_on(descriptor, SOL_SOCKET, SO_KEEPALIVE);
#ifdef TCP_KEEPIDLE
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
#else
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPALIVE, &idle_seconds, sizeof idle_seconds); // Darwin's name for it
#endif
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &probe_seconds, sizeof probe_seconds);
    int count = 2;
    setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
#ifdef TCP_USER_TIMEOUT
    unsigned silence = (unsigned)silence_milliseconds;
    setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof silence);
#else
    (void)silence_milliseconds;
#endif
}

// Returns whether the system holds bytes that it could not send yet, because the peer does not read.
static bool has_unsent(int descriptor) {
#ifdef __linux__
    int count = 0;
    return ioctl(descriptor, SIOCOUTQNSD, &count) == 0 && count > 0;
#else
    (void)descriptor;
    return false;
#endif
}

void clws_socket_close(int descriptor, bool is_abrupt) {
    if (is_abrupt || has_unsent(descriptor)) {
        // Otherwise the system would send the rest before it reports the end of the connection, however long that
        // takes.
        struct linger forget = {.l_onoff = 1, .l_linger = 0};
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &forget, sizeof forget);
    }
    close(descriptor);
}
