// TLS contexts, which connections share: trust anchors, the client's certificate, sessions.
#include "Internal.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int connection_index = -1;

static pthread_once_t index_once = PTHREAD_ONCE_INIT;

static void make_index(void) { connection_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL); }

clws_tls *clws_tls_of(const SSL *ssl) { return SSL_get_ex_data(ssl, connection_index); }

bool clws_tls_attach(clws_tls *tls) { return SSL_set_ex_data(tls->ssl, connection_index, tls) == 1; }

// MARK: Trust

// Returns whether a store has a certificate, and not only revocation lists.
static bool has_certificate(X509_STORE *store) {
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    for (int i = 0; i < sk_X509_OBJECT_num(objects); i++)
        if (X509_OBJECT_get_type(sk_X509_OBJECT_value(objects, i)) == X509_LU_X509) return true;
    return false;
}

static bool load_file(X509_STORE *store, const char *file) {
    X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    // A file with an intermediate authority makes that authority an anchor.
    return lookup && X509_LOOKUP_load_file(lookup, file, X509_FILETYPE_PEM) == 1 && has_certificate(store) &&
           X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN) == 1;
}

clws_trust *clws_trust_create(const char *file) {
    X509_STORE *store = X509_STORE_new();
    if (store && (file ? load_file(store, file) : X509_STORE_set_default_paths(store) == 1)) {
        ERR_clear_error();
        return (clws_trust *)store;
    }
    X509_STORE_free(store);
    ERR_clear_error();
    return NULL;
}

// MARK: Handshakes

static void noticed(const SSL *ssl, int where, int value) {
    clws_tls *tls = clws_tls_of(ssl);
    if (!(where & SSL_CB_ALERT) || value >> 8 != SSL3_AL_FATAL || !tls || tls->alert) return;
    tls->alert = value & 0xFF;
    tls->is_alert_received = where & SSL_CB_READ;
}

static int session_made(SSL *ssl, SSL_SESSION *session) {
    clws_tls *tls = clws_tls_of(ssl);
    if (tls) clws_sessions_put(&tls->context->sessions, &tls->server, session);
    return 0; // it was copied
}

// MARK: Settings

// Keys with a passphrase cannot be used; without this callback OpenSSL would prompt on the terminal.
static int no_passphrase(char *buffer, int capacity, int is_written, void *argument) {
    (void)buffer;
    (void)capacity;
    (void)is_written;
    (void)argument;
    return -1;
}

static bool set_certificate(SSL_CTX *context, const clws_tls_options *options) {
    if (!options->certificate) return true;
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    return options->private_key && SSL_CTX_use_certificate_chain_file(context, options->certificate) == 1 &&
           SSL_CTX_use_PrivateKey_file(context, options->private_key, SSL_FILETYPE_PEM) == 1 &&
           SSL_CTX_check_private_key(context) == 1;
}

static bool copy_pins(clws_tls_context *context, const clws_tls_options *options) {
    size_t size = options->pinned_key_count * CLWS_DIGEST_LENGTH;
    if (!size) return true;
    context->pinned_keys = malloc(size);
    if (!context->pinned_keys) return false;
    memcpy(context->pinned_keys, options->pinned_keys, size);
    context->pinned_key_count = options->pinned_key_count;
    return true;
}

static const unsigned char protocol[] = "\x08http/1.1"; // RFC 7301

static SSL_CTX *make_ssl_context(clws_tls_context *context, const clws_tls_options *options) {
    SSL_CTX *ssl_context = SSL_CTX_new(TLS_client_method());
    if (!ssl_context) return NULL;
    SSL_CTX_set_mode(ssl_context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ssl_context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    // The system's own minimum (openssl.cnf) is kept where it is higher.
    int version = options->requires_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION;
    bool is_limited = SSL_CTX_get_min_proto_version(ssl_context) >= version ||
                      SSL_CTX_set_min_proto_version(ssl_context, version) == 1;
    if (!is_limited || SSL_CTX_set_alpn_protos(ssl_context, protocol, sizeof protocol - 1) != 0) {
        SSL_CTX_free(ssl_context);
        return NULL;
    }
    SSL_CTX_set1_cert_store(ssl_context, (X509_STORE *)options->trust);
    SSL_CTX_set_verify(ssl_context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_verify_callback(ssl_context, clws_verify, context);
    SSL_CTX_set_info_callback(ssl_context, noticed);
    SSL_CTX_set_session_cache_mode(ssl_context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ssl_context, session_made);
    return ssl_context;
}

// RFC 7301 section 3.2: a client that offers other protocols only is refused.
static int select_protocol(
    SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offer, unsigned int count,
    void *argument) {
    (void)ssl;
    (void)argument;
    int result =
        SSL_select_next_proto((unsigned char **)chosen, length, protocol, sizeof protocol - 1, offer, count);
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_server_context(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context) return NULL;
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    if (SSL_CTX_get_min_proto_version(context) < TLS1_2_VERSION) SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_alpn_select_cb(context, select_protocol, NULL);
    SSL_CTX_set_info_callback(context, noticed);
    // Sessions are resumed by tickets, which the client keeps.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 1);
    return context;
}

clws_tls_context *clws_tls_context_create_for_server(
    const char *certificate, const char *private_key, clws_tls_context_fault *fault) {
    const clws_tls_options options = {.certificate = certificate, .private_key = private_key};
    pthread_once(&index_once, make_index);
    *fault = CLWS_TLS_CONTEXT_FAULT_NO_MEMORY;
    clws_tls_context *context = calloc(1, sizeof *context);
    if (!context) return NULL;
    if (connection_index >= 0) context->ssl_context = make_server_context();
    if (context->ssl_context)
        *fault = set_certificate(context->ssl_context, &options) ? CLWS_TLS_CONTEXT_FAULT_NONE
                                                                 : CLWS_TLS_CONTEXT_FAULT_CERTIFICATE;
    ERR_clear_error();
    if (*fault == CLWS_TLS_CONTEXT_FAULT_NONE) return context;
    clws_tls_context_free(context);
    return NULL;
}

clws_tls_context *clws_tls_context_create(const clws_tls_options *options, clws_tls_context_fault *fault) {
    pthread_once(&index_once, make_index);
    *fault = CLWS_TLS_CONTEXT_FAULT_NO_MEMORY;
    clws_tls_context *context = calloc(1, sizeof *context);
    if (!context) return NULL;
    if (connection_index >= 0 && copy_pins(context, options)) context->ssl_context = make_ssl_context(context, options);
    if (context->ssl_context) {
        bool is_set = set_certificate(context->ssl_context, options);
        *fault = is_set ? CLWS_TLS_CONTEXT_FAULT_NONE : CLWS_TLS_CONTEXT_FAULT_CERTIFICATE;
    }
    ERR_clear_error();
    if (*fault == CLWS_TLS_CONTEXT_FAULT_NONE) return context;
    clws_tls_context_free(context);
    return NULL;
}

void clws_tls_context_free(clws_tls_context *context) {
    if (!context) return;
    SSL_CTX_free(context->ssl_context);
    clws_sessions_free(&context->sessions);
    free(context->pinned_keys);
    free(context);
}
