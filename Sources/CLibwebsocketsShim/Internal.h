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
