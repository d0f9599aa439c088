// The event loop: libwebsockets runs it, wakes it up, and waits for one descriptor of ours, which is the set of all
// sockets. Names, races of addresses, proxies, TLS, HTTP, WebSockets and deadlines are this package's own.
//
// Its other functions are not used. Its roles for connections misread HTTP, differ between versions in what they close
// and report, and cost a wake-up and two reads for a TLS record: 13,405 instructions of the thread for an event that
// arrives alone (9,548 now), and 3,994 system calls for 1,000 events of a TLS flood (4.5 now). Sockets that are adopted
// one by one differ by version as well. One raw file behaves alike in 4.1.6, 4.3.5, 4.5.8 and 5.0.0, on which this file
// was checked: Documentation/Decisions/libwebsockets-runs-the-loop.md.
#define _GNU_SOURCE // pthread_setname_np
#include "CLibwebsocketsShim.h"

#if !__has_include(<libwebsockets.h>)
#error "libwebsockets is missing: Scripts/install.sh installs it"
#endif
#include <libwebsockets.h>

#if (LWS_LIBRARY_VERSION_NUMBER) < 4001000
#error "libwebsockets is too old: 4.1 or newer is needed"
#endif

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/timerfd.h>
#else
#include <sys/event.h>
#endif

enum {
    // libwebsockets' own waiting time; every wait is limited by the caller instead.
    LIBRARY_TIMEOUT_SECONDS = 86400,
    // Debian's build takes an unlimited descriptor count for an absurdly small one.
    DESCRIPTOR_LIMIT = 1048576,
    // The number of sockets that one call reports.
    BATCH = 128,
};

struct clws_service {
    struct lws_context *context;
    int set;   // epoll or kqueue
    int timer; // a timerfd in the set; -1 where the set has timers itself
    bool is_running; // what is reported before is about the context itself
    bool was_woken;
    clws_callback callback;
    void *owner;
};

// MARK: The set of sockets

#ifdef __linux__

static bool open_set(clws_service *service) {
    service->set = epoll_create1(EPOLL_CLOEXEC);
    service->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN}; // no token is 0
    return service->set >= 0 && service->timer >= 0 &&
           epoll_ctl(service->set, EPOLL_CTL_ADD, service->timer, &event) == 0;
}

static void close_set(clws_service *service) {
    if (service->timer >= 0) close(service->timer);
    if (service->set >= 0) close(service->set);
}

void clws_service_set_timer(clws_service *service, int64_t microseconds) {
    struct itimerspec time = {{0}, {0}};
    if (microseconds > 0) {
        time.it_value.tv_sec = (time_t)(microseconds / LWS_US_PER_SEC);
        time.it_value.tv_nsec = (long)(microseconds % LWS_US_PER_SEC * 1000);
    }
    timerfd_settime(service->timer, 0, &time, NULL);
}

bool clws_service_watch(clws_service *service, int descriptor, uint64_t token, unsigned before, unsigned after) {
    struct epoll_event event = {
        .events = (after & CLWS_READABLE ? EPOLLIN : 0u) | (after & CLWS_WRITABLE ? EPOLLOUT : 0u),
        .data.u64 = token,
    };
    // A socket with no awaited events leaves the set, since errors and hang-ups are always reported.
    int operation = !after ? EPOLL_CTL_DEL : before ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    return before == after || epoll_ctl(service->set, operation, descriptor, &event) == 0;
}

static void report_ready(clws_service *service) {
    struct epoll_event events[BATCH];
    int count = epoll_wait(service->set, events, BATCH, 0);
    for (int i = 0; i < count; i++) {
        uint64_t token = events[i].data.u64;
        if (!token) {
            uint64_t expirations;
            if (read(service->timer, &expirations, sizeof expirations) == sizeof expirations)
                service->callback(service->owner, CLWS_EVENT_TIMER_FIRED, 0, 0);
            continue;
        }
        const unsigned failed = events[i].events & (EPOLLERR | EPOLLHUP);
        unsigned readiness = (events[i].events & EPOLLIN || failed ? CLWS_READABLE : 0u) |
                             (events[i].events & EPOLLOUT || failed ? CLWS_WRITABLE : 0u);
        service->callback(service->owner, CLWS_EVENT_SOCKET_READY, token, readiness);
    }
}

#else

static bool open_set(clws_service *service) {
    service->timer = -1;
    service->set = kqueue();
    return service->set >= 0;
}

static void close_set(clws_service *service) {
    if (service->set >= 0) close(service->set);
}

void clws_service_set_timer(clws_service *service, int64_t microseconds) {
    struct kevent change;
    EV_SET(&change, 0, EVFILT_TIMER, microseconds > 0 ? EV_ADD | EV_ONESHOT : EV_DELETE, NOTE_USECONDS, microseconds, 0);
    kevent(service->set, &change, 1, NULL, 0, NULL);
}

bool clws_service_watch(clws_service *service, int descriptor, uint64_t token, unsigned before, unsigned after) {
    struct kevent changes[2];
    int count = 0;
    if ((before ^ after) & CLWS_READABLE)
        EV_SET(&changes[count++], (uintptr_t)descriptor, EVFILT_READ, after & CLWS_READABLE ? EV_ADD : EV_DELETE, 0, 0,
               (void *)(uintptr_t)token);
    if ((before ^ after) & CLWS_WRITABLE)
        EV_SET(&changes[count++], (uintptr_t)descriptor, EVFILT_WRITE, after & CLWS_WRITABLE ? EV_ADD : EV_DELETE, 0, 0,
               (void *)(uintptr_t)token);
    return count == 0 || kevent(service->set, changes, count, NULL, 0, NULL) == 0;
}

static void report_ready(clws_service *service) {
    struct kevent events[BATCH];
    const struct timespec now = {0, 0};
    int count = kevent(service->set, NULL, 0, events, BATCH, &now);
    for (int i = 0; i < count; i++) {
        if (events[i].filter == EVFILT_TIMER)
            service->callback(service->owner, CLWS_EVENT_TIMER_FIRED, 0, 0);
        else
            service->callback(
                service->owner, CLWS_EVENT_SOCKET_READY, (uint64_t)(uintptr_t)events[i].udata,
                events[i].filter == EVFILT_READ ? CLWS_READABLE : CLWS_WRITABLE);
    }
}

#endif

// MARK: The loop

static void discard_log(int level, const char *line) {
    (void)level;
    (void)line;
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    (void)user;
    (void)in;
    (void)length;
    struct lws_context *context = wsi ? lws_get_context(wsi) : NULL;
    clws_service *service = context ? lws_context_user(context) : NULL;
    if (!service) return 0;
    switch (reason) {
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        service->was_woken = true;
        if (service->is_running) service->callback(service->owner, CLWS_EVENT_WOKEN, 0, 0);
        return 0;
    case LWS_CALLBACK_RAW_RX_FILE:
        report_ready(service);
        return 0;
    default:
        return 0;
    }
}

static const struct lws_protocols protocols[] = {
    {.name = "sockets", .callback = callback},
    {.name = NULL},
};

static struct lws_context *create_context(clws_service *service) {
    struct rlimit before = {0};
    bool is_lowered = getrlimit(RLIMIT_NOFILE, &before) == 0 && before.rlim_cur > DESCRIPTOR_LIMIT;
    if (is_lowered) {
        struct rlimit lowered = {.rlim_cur = DESCRIPTOR_LIMIT, .rlim_max = before.rlim_max};
        is_lowered = setrlimit(RLIMIT_NOFILE, &lowered) == 0;
    }
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    // libwebsockets never uses TLS: OpenSSL is not initialised for it.
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
    info.port = CONTEXT_PORT_NO_LISTEN;
    info.protocols = protocols;
    info.user = service;
    info.timeout_secs = LIBRARY_TIMEOUT_SECONDS;
#if defined(LWS_WITH_SECURE_STREAMS) && !defined(LWS_WITH_SECURE_STREAMS_STATIC_POLICY_ONLY)
    // Its default policy sends requests to connectivitycheck.android.com whenever a default route comes or goes, and
    // looks the name up on the service thread, which is blocked meanwhile.
    info.pss_policies_json = "{\"release\":\"1\",\"product\":\"none\",\"schema-version\":1}";
#endif
    struct lws_context *context = lws_create_context(&info);
    if (is_lowered) setrlimit(RLIMIT_NOFILE, &before);
    return context;
}

// Wake-ups are reported to virtual hosts, and a descriptor is adopted by one.
static struct lws_vhost *create_vhost(clws_service *service) {
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    info.port = CONTEXT_PORT_NO_LISTEN;
    info.protocols = protocols;
    info.vhost_name = "sockets";
    return lws_create_vhost(service->context, &info);
}

// Returns whether a wake-up arrives: without a descriptor for it libwebsockets makes a context that cannot be woken.
static bool can_be_woken(clws_service *service) {
    enum { ROUNDS = 3 };
    lws_cancel_service(service->context);
    for (int round = 0; round < ROUNDS && !service->was_woken; round++)
        lws_service(service->context, -1); // does not wait
    return service->was_woken;
}

static bool create_loop(clws_service *service) {
    if (!open_set(service)) return false;
    service->context = create_context(service);
    struct lws_vhost *vhost = service->context ? create_vhost(service) : NULL;
    lws_sock_file_fd_type descriptor = {.filefd = service->set};
    // An incomplete context is leaked. Without a descriptor for wake-ups it cannot be destroyed: from 4.3.6 on
    // libwebsockets frees the object of that descriptor, and uses it afterwards.
    return vhost && lws_adopt_descriptor_vhost(vhost, LWS_ADOPT_RAW_FILE_DESC, descriptor, protocols[0].name, NULL) &&
           can_be_woken(service);
}

clws_service *clws_service_create(clws_callback user_callback, void *owner) {
    // The lowered limit must not be taken for the original one, so contexts are made one after the other.
    static pthread_mutex_t creation = PTHREAD_MUTEX_INITIALIZER;
    clws_service *service = calloc(1, sizeof *service);
    if (!service) return NULL;
    service->callback = user_callback;
    service->owner = owner;
    pthread_mutex_lock(&creation);
    lws_set_log_level(LLL_ERR, discard_log);
    service->is_running = create_loop(service);
    pthread_mutex_unlock(&creation);
    if (service->is_running) return service;
    if (!service->context) close_set(service);
    if (!service->context) free(service); // else the context has it
    return NULL;
}

void clws_service_run(clws_service *service) {
    // The thread's name, for tools that inspect the process.
#ifdef __linux__
    pthread_setname_np(pthread_self(), "chappie-service");
#else
    pthread_setname_np("chappie-service");
#endif
    while (lws_service(service->context, 0) >= 0) service->callback(service->owner, CLWS_EVENT_ROUND_ENDED, 0, 0);
}

void clws_service_wake(clws_service *service) { lws_cancel_service(service->context); }

const char *clws_version(void) { return lws_get_library_version(); }

void clws_sha1(const uint8_t *bytes, size_t count, uint8_t *digest) { lws_SHA1(bytes, count, digest); }
