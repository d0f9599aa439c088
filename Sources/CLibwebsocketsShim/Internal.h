// What the files of the shim share. Everything here belongs to one service thread, `clws_trust` excepted.
#pragma once

#include "CLibwebsocketsShim.h"

#if !__has_include(<libwebsockets.h>) || !__has_include(<ev.h>) || !__has_include(<openssl/ssl.h>)
#error "libwebsockets, libev or OpenSSL is missing: Scripts/install.sh installs them"
#endif
#include <ev.h>
#include <libwebsockets.h>
#include <openssl/ssl.h>

#if (LWS_LIBRARY_VERSION_NUMBER) < 4001000
#error "libwebsockets is too old: 4.1 or newer is needed"
#endif
#if defined(LWS_WITH_GNUTLS) || defined(LWS_WITH_MBEDTLS) || defined(LWS_WITH_BEARSSL) || defined(LWS_WITH_OPENHITLS)
#error "libwebsockets was built with another TLS library: one with OpenSSL is needed"
#endif

// The server that a connection was made for.
typedef struct clws_server {
    // Lower case, without the dot that may end it; empty for an address.
    char name[CLWS_HOST_LIMIT + 1];
    uint8_t address[16];
    size_t address_length; // 4, 16, or 0 for a name
    uint16_t port;
} clws_server;

// The servers of sockets whose handshakes have not begun, by descriptor.
typedef struct clws_servers {
    clws_server **entries; // NULL where there is none
    size_t count;
} clws_servers;

enum {
    // How many sessions a route keeps, and how many of them with one server.
    CLWS_SESSION_LIMIT = 32,
    CLWS_SESSION_LIMIT_OF_SERVER = 4,
};

// Sessions that can be resumed, the oldest first.
typedef struct clws_sessions {
    struct {
        clws_server server;
        SSL_SESSION *session;
    } entries[CLWS_SESSION_LIMIT];
    size_t count;
} clws_sessions;

enum { CLWS_DIGEST_LENGTH = 32 };

// The connections of one way to servers: their settings in libwebsockets, and their TLS.
struct clws_route {
    struct lws_vhost *vhost;
    SSL_CTX *tls; // NULL without TLS
    uint8_t *pinned_keys;
    size_t pinned_key_count;
    clws_servers servers;
    clws_sessions sessions;
};

// What is known about the TLS handshake of one connection; it goes with the SSL.
typedef struct clws_handshake {
    clws_server *server; // NULL before it has begun
    char *issuer; // NULL when there is none to tell
    int certificate_code;
    int alert;
    bool is_key_not_pinned;
} clws_handshake;

// TLS.c

// Makes a route's settings of TLS; false with the fault.
bool clws_tls_create(clws_route *route, const clws_tls_options *options, clws_route_fault *fault);
// Frees them.
void clws_tls_free(clws_route *route);
// The state of a connection's handshake; NULL without TLS or memory.
clws_handshake *clws_handshake_of(SSL *ssl);
// What is known about a connection's handshake.
clws_details clws_tls_details(SSL *ssl);
// Whether the peer's last word was lost: the connection broke, or ended without close_notify (RFC 8446 section 6.1).
bool clws_tls_is_cut(SSL *ssl);
// Says to the peer that nothing more comes, if it can still be told.
void clws_tls_end(SSL *ssl);

// Server.c

// Reads a host, without brackets; false when it cannot be the name of a server.
bool clws_server_make(clws_server *server, const char *host, uint16_t port);
bool clws_server_equals(const clws_server *one, const clws_server *other);
// Has the handshake name the server and demand its certificate; false without memory.
bool clws_server_demand(const clws_server *server, SSL *ssl);
// Remembers the server of a socket until its handshake begins; false without memory.
bool clws_servers_put(clws_servers *servers, int descriptor, const clws_server *server);
// Takes it; NULL when there is none. The caller frees it.
clws_server *clws_servers_take(clws_servers *servers, int descriptor);
void clws_servers_free(clws_servers *servers);

// Sessions.c

// Keeps a copy of a session with a server.
void clws_sessions_put(clws_sessions *sessions, const clws_server *server, const SSL_SESSION *session);
// Takes the newest session with a server; NULL when there is none. The caller frees it.
SSL_SESSION *clws_sessions_take(clws_sessions *sessions, const clws_server *server);
void clws_sessions_free(clws_sessions *sessions);

// CLibwebsocketsShim.c

// Reports an event of a connection; not 0 when it has to end.
int clws_report(struct lws *wsi, clws_event event, void *bytes, size_t count);

// Stream.c

// Takes a piece of a body that was read, and reports it with the others of the same read.
int clws_gather(struct lws *wsi, uint8_t *bytes, size_t count);
// Reports what was gathered, before something that comes behind it.
int clws_report_gathered(struct lws *wsi);
// Reports the end of a body.
void clws_report_completed(struct lws *wsi);

// Response.c

// Reports the head.
int clws_response_head(struct lws *wsi, size_t status_code);
// Reports that the body can be read, and before that a head that libwebsockets has skipped.
int clws_response_readable(struct lws *wsi);
// Reports a failure before the body, with libwebsockets' text, and before that a head that libwebsockets has refused.
int clws_response_failed(struct lws *wsi, const char *text, size_t count);

// Tunnel.c

struct ev_loop;

// The sockets that are asking for a tunnel.
typedef struct clws_tunnels clws_tunnels;
// One connection through a proxy; it belongs to its attempt.
typedef struct clws_tunnel clws_tunnel;

// Starts to watch sockets, of which there are none yet, for ever; NULL without memory or descriptors.
clws_tunnels *clws_tunnels_create(struct lws_vhost *vhost, struct ev_loop *loop, const char *protocol);
// Goes on with every socket that is ready: the descriptor that `clws_tunnels_create` gave to libwebsockets is.
void clws_tunnels_ready(clws_tunnels *tunnels);
// Makes what a connection needs, before libwebsockets begins with it; NULL without memory.
clws_tunnel *clws_tunnel_create(clws_tunnels *tunnels, const uint8_t *request, size_t count);
// Takes the socket of a connection that libwebsockets has just begun, or NULL; false when there is none, or none left.
bool clws_tunnel_begin(clws_tunnel *tunnel, struct lws *wsi);
// libwebsockets has found the connection established.
void clws_tunnel_connected(clws_tunnel *tunnel, struct lws *wsi);
// How many bytes of what came were the proxy's.
uint64_t clws_tunnel_answer_byte_count(const clws_tunnel *tunnel);
// The connection is gone, and the tunnel with it.
void clws_tunnel_end(clws_tunnel *tunnel);

// Attempt.c

// A TCP connection that is being established, and what became of it; it is the user data of its `wsi`.
typedef struct clws_attempt clws_attempt;

// Makes an attempt, before libwebsockets is asked to connect; NULL without memory. It owns the tunnel, or there is none.
clws_attempt *clws_attempt_create(struct ev_loop *loop, clws_tunnel *tunnel);
// What it goes through; NULL for a connection without a proxy. NULL is no attempt.
clws_tunnel *clws_attempt_tunnel(const clws_attempt *attempt);
// The socket has failed with this error: remembers it, and closes the connection.
void clws_attempt_fail(clws_attempt *attempt, struct lws *wsi, int error);
// libwebsockets has been asked: the error is noticed from here on. False when there is no connection, or none any more.
bool clws_attempt_started(clws_attempt *attempt, struct lws *wsi);
// TCP is established, or the socket is about to be closed. NULL is none.
void clws_attempt_end(clws_attempt *attempt);
// Notes that the response's head is reported. NULL is none.
void clws_attempt_note_head(clws_attempt *attempt);
// True once the head was reported, and for NULL.
bool clws_attempt_has_head(const clws_attempt *attempt);
// Begins to count the body, whose length libwebsockets does not know, by the head's Content-Length.
void clws_attempt_count_body(clws_attempt *attempt, struct lws *wsi);
// Counts bytes of the body; true when a body that is counted is over. NULL has none.
bool clws_attempt_is_over(clws_attempt *attempt, size_t count, bool is_alive);
// The `errno` that was noticed, or 0. NULL is none.
int clws_attempt_error(const clws_attempt *attempt);
// The connection is gone. NULL is none.
void clws_attempt_free(clws_attempt *attempt);
