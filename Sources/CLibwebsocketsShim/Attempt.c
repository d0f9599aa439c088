// Why a TCP connection could not be established, and what libwebsockets does not keep of a response.
//
// libwebsockets asks the system for the error of a socket, which asks only once, and tells nobody. So a watcher of our
// own, which libev calls first, asks before it, and closes a connection that has failed.
#include "Internal.h"

#include <stdlib.h>
#include <sys/socket.h>

struct clws_attempt {
    ev_io watcher;
    struct ev_loop *loop; // NULL: libwebsockets' own poll loop
    struct lws *wsi;
    clws_tunnel *tunnel; // NULL: without a proxy
    int error;
    bool is_starting; // within `clws_connect`
    bool has_ended;   // nothing is to be noticed any more
    bool is_gone;     // the connection is
    bool has_head;    // the response's was reported
    bool is_counted;  // the body's end is found by its length here
    uint64_t left;    // how much of it is still to come; UINT64_MAX: it ends with the connection
};

clws_attempt *clws_attempt_create(struct ev_loop *loop, clws_tunnel *tunnel) {
    clws_attempt *attempt = calloc(1, sizeof *attempt);
    if (!attempt) return NULL;
    attempt->loop = loop;
    attempt->tunnel = tunnel;
    attempt->is_starting = true;
    return attempt;
}

clws_tunnel *clws_attempt_tunnel(const clws_attempt *attempt) { return attempt ? attempt->tunnel : NULL; }

void clws_attempt_fail(clws_attempt *attempt, struct lws *wsi, int error) {
    attempt->error = error;
    lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_SYNC);
}

static void became_writable(struct ev_loop *loop, ev_io *watcher, int events) {
    (void)events;
    clws_attempt *attempt = watcher->data;
    int error = 0;
    socklen_t length = sizeof error;
    ev_io_stop(loop, watcher);
    if (getsockopt(watcher->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = 0;
    // Without an error libwebsockets is called next, and asks for itself.
    if (error) clws_attempt_fail(attempt, attempt->wsi, error);
}

bool clws_attempt_started(clws_attempt *attempt, struct lws *wsi) {
    attempt->is_starting = false;
    if (!wsi || attempt->is_gone) {
        free(attempt);
        return false;
    }
    // Without a socket yet, as a version that looks names up by itself might leave it, the error stays unknown.
    int descriptor = lws_get_socket_fd(wsi);
    // A tunnel watches its socket itself.
    if (attempt->has_ended || attempt->tunnel || !attempt->loop || descriptor < 0) return true;
    attempt->wsi = wsi;
    ev_io_init(&attempt->watcher, became_writable, descriptor, EV_WRITE);
    ev_set_priority(&attempt->watcher, EV_MAXPRI);
    attempt->watcher.data = attempt;
    ev_io_start(attempt->loop, &attempt->watcher);
    return true;
}

void clws_attempt_end(clws_attempt *attempt) {
    if (!attempt) return;
    attempt->has_ended = true;
    if (attempt->loop && ev_is_active(&attempt->watcher)) ev_io_stop(attempt->loop, &attempt->watcher);
}

void clws_attempt_note_head(clws_attempt *attempt) {
    if (attempt) attempt->has_head = true;
}

bool clws_attempt_has_head(const clws_attempt *attempt) { return !attempt || attempt->has_head; }

void clws_attempt_count_body(clws_attempt *attempt, struct lws *wsi) {
    enum { CAPACITY = 24 };
    char length[CAPACITY];
    attempt->is_counted = true;
    bool is_known = lws_hdr_copy(wsi, length, sizeof length, WSI_TOKEN_HTTP_CONTENT_LENGTH) > 0;
    attempt->left = is_known ? strtoull(length, NULL, 10) : UINT64_MAX;
}

bool clws_attempt_is_over(clws_attempt *attempt, size_t count, bool is_alive) {
    if (!attempt || !attempt->is_counted) return false;
    if (attempt->left == UINT64_MAX) return !is_alive;
    attempt->left -= count < attempt->left ? count : attempt->left;
    return attempt->left == 0;
}

int clws_attempt_error(const clws_attempt *attempt) { return attempt ? attempt->error : 0; }

void clws_attempt_free(clws_attempt *attempt) {
    if (!attempt) return;
    clws_attempt_end(attempt);
    if (attempt->tunnel) clws_tunnel_end(attempt->tunnel);
    attempt->is_gone = true;
    if (!attempt->is_starting) free(attempt);
}
