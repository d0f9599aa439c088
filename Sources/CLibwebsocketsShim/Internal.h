// What the files of the shim share. Everything here belongs to one service thread.
#pragma once

#include "CLibwebsocketsShim.h"

#include <ev.h>
#include <libwebsockets.h>
#include <openssl/ssl.h>

// The connections of one way to one server: their settings in libwebsockets, and their TLS.
struct clws_route {
    struct lws_vhost *vhost;
    SSL_CTX *tls; // NULL without TLS
};

// What is known about the TLS handshake of one connection; it goes with the SSL.
typedef struct clws_handshake {
    clws_details details;
} clws_handshake;

// TLS.c

// Makes the settings of TLS, trust anchors and all; NULL with the fault.
SSL_CTX *clws_tls_create(const clws_tls_options *options, clws_route_fault *fault);
// The state of a connection's handshake; NULL without TLS or memory.
clws_handshake *clws_handshake_of(SSL *ssl);
// A certificate of the peer's chain was looked at; 0 lets OpenSSL's verdict stand.
int clws_certificate_checked(SSL *ssl, X509_STORE_CTX *chain);

// CLibwebsocketsShim.c

// Reports an event of a connection; not 0 when it has to end.
int clws_report(struct lws *wsi, clws_event event, void *bytes, size_t count);

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
// The `errno` that was noticed, or 0. NULL is none.
int clws_attempt_error(const clws_attempt *attempt);
// The connection is gone. NULL is none.
void clws_attempt_free(clws_attempt *attempt);
