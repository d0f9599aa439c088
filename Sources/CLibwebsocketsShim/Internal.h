// What the files of the shim share. Everything here belongs to one service thread.
#pragma once

#include "CLibwebsocketsShim.h"

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
// One connection through a proxy; it is libwebsockets' user data of the connection, and goes with it.
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
// The connection is gone.
void clws_tunnel_end(clws_tunnel *tunnel);
