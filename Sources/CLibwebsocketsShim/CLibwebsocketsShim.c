// What Swift cannot do with libwebsockets itself: macros, bit-fields, variadics, differences between versions.
// It has no policy; the service thread owns everything in it.
#define _GNU_SOURCE // pthread_setname_np
#include "Internal.h"

#include <errno.h>
#include <ev.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    // No deadline is worth more wake-ups than this, and libev waits for no less.
    SHORTEST_TIMER_MICROSECONDS = 1000,
    // libwebsockets has no timer of its own that is shorter than 5 s.
    REMINDER_SECONDS = 1,
    // libwebsockets waits this long by itself; every shorter wait is the caller's.
    LIBRARY_TIMEOUT_SECONDS = 86400,
    // Debian's build takes an unlimited descriptor count for an absurdly small one.
    DESCRIPTOR_LIMIT = 1048576,
};

struct clws_service {
    struct lws_context *context;
    struct ev_loop *loop; // NULL: libwebsockets' own poll loop
    struct lws_vhost *plain_vhost;
    clws_tunnels *tunnels; // NULL before the first
    ev_prepare round_end;
    ev_timer timer;
    ev_timer reminder;
    lws_sorted_usec_list_t poll_timer;
    lws_usec_t poll_timer_due; // 0: not set
    bool is_active;
    bool is_running; // what it reports before is about itself
    bool was_woken;
    int descriptor_limit; // of libwebsockets' tables
    clws_callback callback;
    void *owner;
    uint8_t write_buffer[LWS_PRE + CLWS_BUFFER_SIZE];
};

static void discard_log(int level, const char *line) {
    (void)level;
    (void)line;
}

static clws_service *service_of(struct lws *wsi) {
    struct lws_context *context = wsi ? lws_get_context(wsi) : NULL;
    return context ? lws_context_user(context) : NULL;
}

// A context with this flag gives a global of libwebsockets another value, with which handshakes of the other contexts
// fail: it is for the first one alone. Virtual hosts may have it. A lowered limit must not be taken for the real one
// either, so that contexts are made one after the other.
static pthread_mutex_t creation = PTHREAD_MUTEX_INITIALIZER;
static bool is_tls_initialized;

static int report(clws_service *service, struct lws *wsi, clws_event event, void *bytes, size_t count) {
    uintptr_t id = wsi ? (uintptr_t)lws_get_opaque_user_data(wsi) : 0;
    if (wsi && !id) return 0; // not one of ours: the context's own wake-up pipe
    return service->callback(service->owner, (clws_stream *)wsi, id, event, bytes, count);
}

int clws_report(struct lws *wsi, clws_event event, void *bytes, size_t count) {
    clws_service *service = service_of(wsi);
    return service ? report(service, wsi, event, bytes, count) : 0;
}

static int tcp_connected(clws_service *service, struct lws *wsi) {
    clws_tunnel *tunnel = clws_attempt_tunnel(lws_wsi_user(wsi));
    if (!tunnel) return report(service, wsi, CLWS_EVENT_TCP_CONNECTED, NULL, 0);
    clws_tunnel_connected(tunnel, wsi); // that the socket is connected was reported before
    return 0;
}

// Not a part of `callback`, which is short for the sake of chunks.
__attribute__((noinline)) static int
handle(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    clws_service *service = service_of(wsi);
    if (!service) return 0;
    switch (reason) {
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        service->was_woken = true;
        if (!service->is_running) return 0;
        return service->callback(service->owner, NULL, 0, CLWS_EVENT_WOKEN, NULL, 0);
    case LWS_CALLBACK_WSI_CREATE:
        clws_attempt_end(user);
        return tcp_connected(service, wsi);
    case LWS_CALLBACK_RAW_RX_FILE:
        clws_tunnels_ready(service->tunnels);
        return 0;
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        return report(service, wsi, CLWS_EVENT_FIELDS_DUE, in, length);
    case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
        return clws_response_head(wsi, lws_http_client_http_response(wsi));
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
        return clws_response_readable(wsi);
    case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE:
        return report(service, wsi, CLWS_EVENT_WRITABLE, NULL, 0);
    case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
        clws_report_completed(wsi);
        return -1; // or the socket is kept for 5 s
    case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
        report(service, wsi, CLWS_EVENT_CLOSED, NULL, 0);
        clws_tls_end(lws_get_ssl(wsi)); // libwebsockets goes without a word
        return 0;
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        return clws_response_failed(wsi, in ? in : "", in ? length : 0);
    case LWS_CALLBACK_WSI_DESTROY:
        report(service, wsi, CLWS_EVENT_DESTROYED, NULL, 0);
        clws_attempt_free(user);
        return 0;
    default:
        return 0;
    }
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    // A server that sends each event as a chunk makes one such call for each: nothing is looked up for it.
    if (reason != LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ) return handle(wsi, reason, user, in, length);
    // A chunk size of 2^31 or more arrives here as a length near 2^64 (libwebsockets before 4.5.3).
    return length > CLWS_READ_SIZE ? -1 : clws_gather(wsi, in, length);
}

static const struct lws_protocols protocols[] = {
    {.name = "stream", .callback = callback, .rx_buffer_size = CLWS_BUFFER_SIZE},
    {.name = NULL},
};

static void round_ended(struct ev_loop *loop, ev_prepare *watcher, int events) {
    (void)loop;
    (void)events;
    clws_service *service = watcher->data;
    service->callback(service->owner, NULL, 0, CLWS_EVENT_ROUND_ENDED, NULL, 0);
}

static void timer_fired(struct ev_loop *loop, ev_timer *watcher, int events) {
    (void)loop;
    (void)events;
    clws_service *service = watcher->data;
    service->callback(service->owner, NULL, 0, CLWS_EVENT_TIMER_FIRED, NULL, 0);
}

static void remind(struct ev_loop *loop, ev_timer *watcher, int events) {
    (void)loop;
    (void)events;
    clws_service *service = watcher->data;
    // libwebsockets' own timers fire late under a foreign loop; being woken makes it look at them.
    lws_cancel_service(service->context);
}

static void poll_timer_fired(lws_sorted_usec_list_t *timer) {
    clws_service *service = lws_container_of(timer, clws_service, poll_timer);
    service->poll_timer_due = 0;
    service->callback(service->owner, NULL, 0, CLWS_EVENT_TIMER_FIRED, NULL, 0);
    // libwebsockets waits next, and this round has no other end.
    service->callback(service->owner, NULL, 0, CLWS_EVENT_ROUND_ENDED, NULL, 0);
}

// libwebsockets waits for whole milliseconds, rounded down, and would ask again and again during the last one.
static void sleep_last_millisecond(clws_service *service) {
    if (!service->poll_timer_due) return;
    lws_usec_t left = service->poll_timer_due - lws_now_usecs();
    if (left > 0 && left < LWS_US_PER_MS) usleep((useconds_t)left);
}

static struct lws_context *create_context(clws_service *service) {
    struct rlimit before = {0};
    bool is_known = getrlimit(RLIMIT_NOFILE, &before) == 0;
    bool is_lowered = is_known && before.rlim_cur > DESCRIPTOR_LIMIT;
    if (is_lowered) {
        struct rlimit lowered = {.rlim_cur = DESCRIPTOR_LIMIT, .rlim_max = before.rlim_max};
        is_lowered = setrlimit(RLIMIT_NOFILE, &lowered) == 0;
    }
    service->descriptor_limit = is_known && !is_lowered ? (int)before.rlim_cur : DESCRIPTOR_LIMIT;
    void *loops[] = {service->loop};
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
    if (!is_tls_initialized) info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    if (service->loop) {
        info.options |= LWS_SERVER_OPTION_LIBEV;
        info.foreign_loops = loops;
    }
    info.port = CONTEXT_PORT_NO_LISTEN;
    info.protocols = protocols;
    info.user = service;
    info.pt_serv_buf_size = LWS_PRE + CLWS_READ_SIZE;
    info.max_http_header_data2 = CLWS_HEADER_SECTION_LIMIT;
    info.timeout_secs = LIBRARY_TIMEOUT_SECONDS;
    info.connect_timeout_secs = LIBRARY_TIMEOUT_SECONDS;
    struct lws_context *context = lws_create_context(&info);
    if (context) is_tls_initialized = true;
    if (is_lowered) setrlimit(RLIMIT_NOFILE, &before);
    return context;
}

static struct lws_vhost *create_vhost(clws_service *service, const char *name, SSL_CTX *tls) {
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.options = tls ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0;
#ifdef LWS_SERVER_OPTION_DISABLE_TLS_SESSION_CACHE
    info.options |= LWS_SERVER_OPTION_DISABLE_TLS_SESSION_CACHE; // from 4.2 on it has sessions of its own; ours are ours
#endif
    info.port = CONTEXT_PORT_NO_LISTEN;
    info.protocols = protocols;
    info.vhost_name = name;
    info.provided_client_ssl_ctx = tls;
    info.connect_timeout_secs = LIBRARY_TIMEOUT_SECONDS;
    info.http_proxy_address = ""; // or the environment's proxy is used without a word
    return lws_create_vhost(service->context, &info);
}

// Whether a wake-up arrives: without a descriptor for it libwebsockets makes a context that nobody can wake.
static bool can_be_woken(clws_service *service) {
    enum { ROUNDS = 3 };
    service->was_woken = false;
    lws_cancel_service(service->context);
    for (int round = 0; round < ROUNDS && !service->was_woken; round++) {
        if (service->loop)
            ev_run(service->loop, EVRUN_NOWAIT);
        else
            lws_service(service->context, -1); // does not wait
    }
    return service->was_woken;
}

static bool create_on_loop(clws_service *service, struct ev_loop *loop) {
    service->loop = loop;
    service->context = create_context(service);
    // Wake-ups are reported to virtual hosts, so there is always one. Without TLS: reading the system's authorities
    // takes tens of milliseconds.
    if (service->context) service->plain_vhost = create_vhost(service, "plain", NULL);
    if (service->plain_vhost && can_be_woken(service)) return true;
    // The context is left as it is. Without a descriptor to be woken by it cannot be destroyed: from 4.3.6 on
    // libwebsockets frees its object for that, and uses it afterwards.
    if (loop) ev_loop_destroy(loop);
    service->plain_vhost = NULL;
    return false;
}

clws_service *clws_service_create(clws_callback user_callback, void *owner) {
    clws_service *service = calloc(1, sizeof *service);
    if (!service) return NULL;
    service->callback = user_callback;
    service->owner = owner;
    pthread_mutex_lock(&creation);
    lws_set_log_level(LLL_ERR, discard_log);
    // libev costs 2–7 µs a wake at any number of connections, poll up to 2 ms at 5,000. Its plugin may be missing.
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOSIGMASK);
    bool is_created = (loop && create_on_loop(service, loop)) || create_on_loop(service, NULL);
    pthread_mutex_unlock(&creation);
    if (!is_created) {
        free(service);
        return NULL;
    }
    service->is_running = true;
    if (service->loop) {
        ev_prepare_init(&service->round_end, round_ended);
        service->round_end.data = service;
        ev_prepare_start(service->loop, &service->round_end);
        ev_init(&service->timer, timer_fired);
        service->timer.data = service;
        ev_timer_init(&service->reminder, remind, REMINDER_SECONDS, REMINDER_SECONDS);
        service->reminder.data = service;
    }
    return service;
}

int clws_service_descriptor_limit(clws_service *service) { return service->descriptor_limit; }

void clws_service_run(clws_service *service) {
    // For those who look at the process from outside.
#ifdef __linux__
    pthread_setname_np(pthread_self(), "chappie-service");
#else
    pthread_setname_np("chappie-service");
#endif
    if (service->loop) {
        ev_run(service->loop, 0);
        return;
    }
    while (lws_service(service->context, 0) >= 0) {
        service->callback(service->owner, NULL, 0, CLWS_EVENT_ROUND_ENDED, NULL, 0);
        sleep_last_millisecond(service);
    }
}

void clws_service_wake(clws_service *service) { lws_cancel_service(service->context); }

void clws_service_set_timer(clws_service *service, int64_t microseconds) {
    if (microseconds < SHORTEST_TIMER_MICROSECONDS) microseconds = SHORTEST_TIMER_MICROSECONDS;
    if (service->loop) {
        ev_timer_stop(service->loop, &service->timer);
        // The loop's idea of the time is as old as its last wake-up.
        ev_now_update(service->loop);
        ev_timer_set(&service->timer, (double)microseconds / 1e6, 0);
        ev_timer_start(service->loop, &service->timer);
    } else {
        service->poll_timer_due = lws_now_usecs() + microseconds;
        lws_sul_schedule(service->context, 0, &service->poll_timer, poll_timer_fired, microseconds);
    }
}

void clws_service_stop_timer(clws_service *service) {
    if (service->loop) {
        ev_timer_stop(service->loop, &service->timer);
    } else {
        service->poll_timer_due = 0;
        lws_sul_schedule(service->context, 0, &service->poll_timer, poll_timer_fired, LWS_SET_TIMER_USEC_CANCEL);
    }
}

void clws_service_set_active(clws_service *service, bool active) {
    if (service->is_active == active) return;
    service->is_active = active;
    if (!service->loop) return; // there its timers are on time
    if (active) {
        ev_now_update(service->loop);
        ev_timer_again(service->loop, &service->reminder);
    } else {
        ev_timer_stop(service->loop, &service->reminder);
    }
}

clws_route *clws_route_create(clws_service *service, const clws_tls_options *tls, clws_route_fault *fault) {
    *fault = CLWS_ROUTE_FAULT_NO_MEMORY;
    clws_route *route = calloc(1, sizeof *route);
    if (!route) return NULL;
    if (!tls) {
        route->vhost = service->plain_vhost;
    } else if (clws_tls_create(route, tls, fault)) {
        char name[32];
        snprintf(name, sizeof name, "secure %p", (void *)route);
        route->vhost = create_vhost(service, name, route->tls);
        if (!route->vhost) *fault = CLWS_ROUTE_FAULT_NO_MEMORY;
    }
    if (route->vhost) {
        *fault = CLWS_ROUTE_FAULT_NONE;
        return route;
    }
    clws_tls_free(route);
    free(route);
    return NULL;
}

bool clws_expect_server(clws_route *route, clws_stream *stream, const char *host, uint16_t port) {
    int descriptor = lws_get_socket_fd((struct lws *)stream);
    free(clws_servers_take(&route->servers, descriptor)); // left by another socket
    clws_server server;
    return clws_server_make(&server, host, port) && clws_servers_put(&route->servers, descriptor, &server);
}

clws_details clws_details_of(clws_stream *stream) { return clws_tls_details(lws_get_ssl((struct lws *)stream)); }

bool clws_is_cut(clws_stream *stream) { return clws_tls_is_cut(lws_get_ssl((struct lws *)stream)); }

bool clws_is_resumed(clws_stream *stream) {
    SSL *ssl = lws_get_ssl((struct lws *)stream);
    return ssl && SSL_session_reused(ssl) == 1;
}

// The `errno` with which a socket cannot be made; 0 when one can.
static int descriptor_error(const clws_service *service) {
    int probe = socket(AF_INET, SOCK_STREAM, 0);
    if (probe < 0) return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? errno : CLWS_ERROR_NO_SOCKETS;
    close(probe);
    // The tables of libwebsockets are as large as the limit was when they were made.
    return probe >= service->descriptor_limit ? EMFILE : 0;
}

static clws_tunnel *create_tunnel(clws_service *service, const clws_target *target, int *error) {
    errno = ENOMEM;
    if (!service->tunnels)
        service->tunnels = clws_tunnels_create(service->plain_vhost, service->loop, protocols[0].name);
    *error = errno;
    if (!service->tunnels) return NULL;
    return clws_tunnel_create(service->tunnels, target->tunnel_request, target->tunnel_request_count);
}

clws_stream *clws_connect(clws_service *service, const clws_target *target, int *error) {
    // libwebsockets 5.0 closes a socket that its tables cannot hold, and goes on with the connection all the same.
    *error = descriptor_error(service);
    if (*error) return NULL;
    struct lws_client_connect_info info;
    memset(&info, 0, sizeof info);
    info.context = service->context;
    info.vhost = target->route->vhost;
    info.address = target->address;
    info.port = target->port;
    info.host = target->host;
    info.path = target->target;
    info.method = target->method;
    info.alpn = "http/1.1";
    info.local_protocol_name = protocols[0].name;
    info.opaque_user_data = (void *)target->id;
    // A redirect would send the credential to another host.
    info.ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT | (target->is_secure ? LCCSCF_USE_SSL : 0);
    *error = ENOMEM;
    clws_tunnel *tunnel = NULL;
    if (target->tunnel_request_count > 0) {
        tunnel = create_tunnel(service, target, error);
        if (!tunnel) return NULL;
    }
    clws_attempt *attempt = clws_attempt_create(service->loop, tunnel);
    if (!attempt) {
        free(tunnel);
        return NULL;
    }
    info.userdata = attempt;
    errno = 0;
    struct lws *wsi = lws_client_connect_via_info(&info);
    int code = errno;
    if (tunnel && !clws_tunnel_begin(tunnel, wsi)) code = errno;
    if (clws_attempt_started(attempt, wsi)) return (clws_stream *)wsi;
    *error = descriptor_error(service);
    if (!*error) *error = code;
    return NULL;
}

bool clws_has_socket(clws_stream *stream) { return lws_get_socket_fd((struct lws *)stream) >= 0; }

int clws_connect_error(clws_stream *stream) { return clws_attempt_error(lws_wsi_user((struct lws *)stream)); }

uint8_t *clws_write_buffer(clws_service *service) { return service->write_buffer + LWS_PRE; }

bool clws_write(clws_service *service, clws_stream *stream, size_t count) {
    return lws_write((struct lws *)stream, service->write_buffer + LWS_PRE, count, LWS_WRITE_RAW) >= (int)count;
}

void clws_sha1(const uint8_t *bytes, size_t count, uint8_t *digest) { lws_SHA1(bytes, count, digest); }

const char *clws_version(void) { return lws_get_library_version(); }

const char *clws_tls_version(void) { return OpenSSL_version(OPENSSL_VERSION_STRING); }
