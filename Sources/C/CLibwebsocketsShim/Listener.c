// The server's side of TCP: listening sockets, and the connections that they accept.
#define _GNU_SOURCE // accept4
#include "CLibwebsocketsShim.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    // The most bytes that the system takes of a connection before it has sent those before.
    UNSENT_LIMIT = 65536,
};

static void turn_on(int descriptor, int level, int option) {
    int is_on = 1;
    setsockopt(descriptor, level, option, &is_on, sizeof is_on);
}

static void prepare(int descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

// Returns the port of a socket's own end; 0 when it has none.
static uint16_t bound_port(int descriptor) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) return 0;
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

static int listen_at(const struct addrinfo *address, int backlog) {
    int descriptor = socket(address->ai_family, SOCK_STREAM, 0);
    if (descriptor < 0) return -errno;
    prepare(descriptor);
    // A server that is started again uses the port although connections of the one before wait for late segments.
    turn_on(descriptor, SOL_SOCKET, SO_REUSEADDR);
    if (address->ai_family == AF_INET6) {
        // "::" means both families, whatever the system's default is.
        int is_only = 0;
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &is_only, sizeof is_only);
    }
    if (bind(descriptor, address->ai_addr, address->ai_addrlen) == 0 && listen(descriptor, backlog) == 0)
        return descriptor;
    int error = errno;
    close(descriptor);
    return -error;
}

int clws_listen(const char *address, uint16_t port, int backlog, uint16_t *chosen_port) {
    struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(address, service, &hints, &found) != 0) return -EINVAL;
    int descriptor = listen_at(found, backlog);
    freeaddrinfo(found);
    if (descriptor >= 0) *chosen_port = bound_port(descriptor);
    return descriptor;
}

int clws_accept(int listener, char *address) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    int descriptor;
    do
#ifdef __linux__
        descriptor = accept4(listener, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
        descriptor = accept(listener, (struct sockaddr *)&peer, &length);
#endif
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return -errno;
#ifndef __linux__
    prepare(descriptor);
    turn_on(descriptor, SOL_SOCKET, SO_NOSIGPIPE);
#endif
    // Whole responses, chunks and frames are written: waiting for more bytes (RFC 896) would only delay them.
    turn_on(descriptor, IPPROTO_TCP, TCP_NODELAY);
#ifdef TCP_NOTSENT_LOWAT
    // What the system holds beyond what it has sent is neither limited nor taken back by the caller.
    int unsent = UNSENT_LIMIT;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
#endif
    if (getnameinfo((struct sockaddr *)&peer, length, address, CLWS_ADDRESS_LIMIT + 1, NULL, 0, NI_NUMERICHOST) != 0)
        address[0] = 0;
    return descriptor;
}

void clws_socket_end_output(int descriptor) { shutdown(descriptor, SHUT_WR); }

void clws_socket_release(int descriptor) { close(descriptor); }
