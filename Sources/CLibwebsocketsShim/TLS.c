// TLS as a connection wants it: trust anchors, and what became of a handshake.
#include "Internal.h"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int handshake_index = -1;

static void free_handshake(void *parent, void *value, CRYPTO_EX_DATA *data, int index, long number, void *pointer) {
    (void)parent;
    (void)data;
    (void)index;
    (void)number;
    (void)pointer;
    free(value);
}

static void make_index(void) { handshake_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, free_handshake); }

clws_handshake *clws_handshake_of(SSL *ssl) {
    if (!ssl || handshake_index < 0) return NULL;
    clws_handshake *known = SSL_get_ex_data(ssl, handshake_index);
    if (known) return known;
    clws_handshake *made = calloc(1, sizeof *made);
    if (made && SSL_set_ex_data(ssl, handshake_index, made) != 1) {
        free(made);
        return NULL;
    }
    return made;
}

static void noticed(const SSL *ssl, int where, int value) {
    // The connection is this one's to change; OpenSSL lends it as const.
    clws_handshake *handshake = where & SSL_CB_ALERT ? clws_handshake_of((SSL *)ssl) : NULL;
    if (handshake && value >> 8 == SSL3_AL_FATAL) handshake->details.alert = value & 0xFF;
}

int clws_certificate_checked(SSL *ssl, X509_STORE_CTX *chain) {
    int code = X509_STORE_CTX_get_error(chain);
    clws_handshake *handshake = code == X509_V_OK ? NULL : clws_handshake_of(ssl);
    if (handshake && !handshake->details.certificate_code) handshake->details.certificate_code = code;
    return 0;
}

static bool trust(SSL_CTX *context, const char *file) {
    if (file) return SSL_CTX_load_verify_file(context, file) == 1;
    return SSL_CTX_set_default_verify_paths(context) == 1;
}

SSL_CTX *clws_tls_create(const clws_tls_options *options, clws_route_fault *fault) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_index);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    *fault = CLWS_ROUTE_FAULT_NO_MEMORY;
    if (!context) return NULL;
    SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_min_proto_version(context, options->requires_tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
    SSL_CTX_set_info_callback(context, noticed);
    *fault = CLWS_ROUTE_FAULT_TRUST_ANCHORS;
    if (trust(context, options->trust_anchors)) return context;
    SSL_CTX_free(context);
    ERR_clear_error();
    return NULL;
}
