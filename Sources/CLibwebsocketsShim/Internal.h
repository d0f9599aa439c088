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

// Attempt.c

// A TCP connection that is being established, and what became of it; it is the user data of its `wsi`.
typedef struct clws_attempt clws_attempt;

// Makes an attempt, before libwebsockets is asked to connect; NULL without memory.
clws_attempt *clws_attempt_create(struct ev_loop *loop);
// libwebsockets has been asked: the error is noticed from here on. False when there is no connection, or none any more.
bool clws_attempt_started(clws_attempt *attempt, struct lws *wsi);
// TCP is established, or the socket is about to be closed. NULL is none.
void clws_attempt_end(clws_attempt *attempt);
// The `errno` that was noticed, or 0. NULL is none.
int clws_attempt_error(const clws_attempt *attempt);
// The connection is gone. NULL is none.
void clws_attempt_free(clws_attempt *attempt);
