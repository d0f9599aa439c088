// Declarations that the files about TLS share. Everything here belongs to one service thread, `clws_trust` excepted.
#pragma once

#include "CLibwebsocketsShim.h"

#if !__has_include(<openssl/ssl.h>)
#error "OpenSSL is missing: Scripts/install.sh installs it"
#endif
#include <openssl/ssl.h>

// The server that a connection was made for.
typedef struct clws_server {
    // In lower case, without a trailing dot; empty for an address.
    char name[CLWS_HOST_LIMIT + 1];
    uint8_t address[16];
    size_t address_length; // 4, 16, or 0 for a name
    uint16_t port;
} clws_server;

enum {
    // The number of sessions that a TLS context keeps, and the number of those with one server.
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

struct clws_tls_context {
    SSL_CTX *ssl_context;
    uint8_t *pinned_keys;
    size_t pinned_key_count;
    clws_sessions sessions;
};

struct clws_tls {
    SSL *ssl;
    clws_tls_context *context;
    clws_server server;
    // The bytes that OpenSSL reads, and the memory it writes to, within one step.
    const uint8_t *input;
    size_t input_count;
    uint8_t *output;
    size_t output_capacity;
    size_t output_count;
    // The result of the handshake.
    char *issuer; // NULL when there is none to tell
    STACK_OF(X509) *rejected; // the certificates that were sent; NULL unless one was rejected
    int certificate_code;
    int certificate_depth;
    int alert;
    bool is_key_not_pinned;
    bool is_alert_received;
    bool is_answered_in_http;
    bool is_not_tls;
    bool has_received;
    bool has_failed;
};

// Server.c

// Reads a host, without brackets; false when it cannot be the name of a server.
bool clws_server_make(clws_server *server, const char *host, uint16_t port);
bool clws_server_equals(const clws_server *one, const clws_server *other);
// Sets the handshake's server name and demands the server's certificate; false without memory.
bool clws_server_demand(const clws_server *server, SSL *ssl);

// Sessions.c

// Keeps a copy of a session with a server.
void clws_sessions_put(clws_sessions *sessions, const clws_server *server, const SSL_SESSION *session);
// Takes the newest session with a server; NULL when there is none. The caller frees it.
SSL_SESSION *clws_sessions_take(clws_sessions *sessions, const clws_server *server);
void clws_sessions_free(clws_sessions *sessions);

// CertificateCheck.c

// OpenSSL's callback for the peer's certificates; `argument` is the connection's TLS context.
int clws_verify(X509_STORE_CTX *chain, void *argument);

// TLSContext.c

// The connection of a handshake.
clws_tls *clws_tls_of(const SSL *ssl);
// Notes which connection a handshake is for; false without memory.
bool clws_tls_attach(clws_tls *tls);
