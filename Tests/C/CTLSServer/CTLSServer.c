#include "CTLSServer.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cts_server {
    SSL_CTX *context;
    char *pem;
};

struct cts_connection {
    SSL *ssl;
    size_t received_count;
    int alert;
};

// MARK: Certificates

static bool add_names(X509 *certificate, const char *name) {
    char names[300];
    snprintf(names, sizeof names, "DNS:%s", name);
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, NID_subject_alt_name, names);
    bool is_added = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

// A certificate that has signed itself, valid for a day.
static X509 *make_certificate(const char *name, EVP_PKEY *key) {
    X509 *certificate = X509_new();
    uint32_t serial = 0;
    X509_NAME *subject = X509_get_subject_name(certificate);
    const unsigned char *common_name = (const unsigned char *)"memory";
    if (RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
        X509_set_version(certificate, X509_VERSION_3) == 1 &&
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial) == 1 &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), -60 * 60) &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), 24 * 60 * 60) && X509_set_pubkey(certificate, key) == 1 &&
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, common_name, -1, -1, 0) == 1 &&
        X509_set_issuer_name(certificate, subject) == 1 && add_names(certificate, name) &&
        X509_sign(certificate, key, EVP_sha256()) > 0)
        return certificate;
    X509_free(certificate);
    return NULL;
}

static char *pem_of(X509 *certificate) {
    BIO *memory = BIO_new(BIO_s_mem());
    char *bytes = NULL;
    long count = PEM_write_bio_X509(memory, certificate) == 1 ? BIO_get_mem_data(memory, &bytes) : 0;
    char *text = count > 0 ? strndup(bytes, (size_t)count) : NULL;
    BIO_free(memory);
    return text;
}

bool cts_server_change_certificate(cts_server *server, const char *name) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = key ? make_certificate(name, key) : NULL;
    bool is_set = certificate && SSL_CTX_use_certificate(server->context, certificate) == 1 &&
                  SSL_CTX_use_PrivateKey(server->context, key) == 1;
    free(server->pem);
    server->pem = is_set ? pem_of(certificate) : NULL;
    X509_free(certificate);
    EVP_PKEY_free(key);
    return server->pem != NULL;
}

// MARK: Servers

cts_server *cts_server_create(const char *name, int version, bool has_sessions) {
    cts_server *server = calloc(1, sizeof *server);
    server->context = SSL_CTX_new(TLS_server_method());
    if (server->context && !has_sessions) {
        SSL_CTX_set_options(server->context, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(server->context, 0);
        SSL_CTX_set_session_cache_mode(server->context, SSL_SESS_CACHE_OFF);
    }
    if (server->context && SSL_CTX_set_min_proto_version(server->context, version) == 1 &&
        SSL_CTX_set_max_proto_version(server->context, version) == 1 && cts_server_change_certificate(server, name))
        return server;
    cts_server_free(server);
    return NULL;
}

void cts_server_free(cts_server *server) {
    SSL_CTX_free(server->context);
    free(server->pem);
    free(server);
}

const char *cts_server_certificate(const cts_server *server) { return server->pem; }

// MARK: Connections

static void noticed(const SSL *ssl, int where, int value) {
    cts_connection *connection = SSL_get_app_data(ssl);
    if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT) connection->alert = value;
}

cts_connection *cts_connection_create(cts_server *server) {
    cts_connection *connection = calloc(1, sizeof *connection);
    connection->ssl = SSL_new(server->context);
    SSL_set_bio(connection->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_app_data(connection->ssl, connection);
    SSL_set_info_callback(connection->ssl, noticed);
    SSL_set_accept_state(connection->ssl);
    return connection;
}

void cts_connection_free(cts_connection *connection) {
    SSL_free(connection->ssl);
    free(connection);
}

bool cts_receive(cts_connection *connection, const uint8_t *bytes, size_t count) {
    uint8_t plaintext[4096];
    BIO_write(SSL_get_rbio(connection->ssl), bytes, (int)count);
    int result;
    while ((result = SSL_read(connection->ssl, plaintext, sizeof plaintext)) > 0)
        connection->received_count += (size_t)result;
    int error = SSL_get_error(connection->ssl, result);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_ZERO_RETURN;
}

bool cts_is_open(const cts_connection *connection) { return SSL_is_init_finished(connection->ssl); }

size_t cts_received_count(const cts_connection *connection) { return connection->received_count; }

int cts_received_alert(const cts_connection *connection) { return connection->alert; }

bool cts_send(cts_connection *connection, const uint8_t *bytes, size_t count) {
    bool is_sent = SSL_write(connection->ssl, bytes, (int)count) == (int)count;
    ERR_clear_error();
    return is_sent;
}

void cts_end(cts_connection *connection) {
    SSL_shutdown(connection->ssl);
    ERR_clear_error();
}

void cts_alert(cts_connection *connection) {
    static const uint8_t damaged[5 + 32] = {0x17, 0x03, 0x03, 0x00, 0x20};
    cts_receive(connection, damaged, sizeof damaged);
}

bool cts_renegotiate(cts_connection *connection) {
    bool is_asked = SSL_renegotiate(connection->ssl) == 1 && SSL_do_handshake(connection->ssl) == 1;
    ERR_clear_error();
    return is_asked;
}

bool cts_update_keys(cts_connection *connection) {
    bool is_sent =
        SSL_key_update(connection->ssl, SSL_KEY_UPDATE_REQUESTED) == 1 && SSL_do_handshake(connection->ssl) == 1;
    ERR_clear_error();
    return is_sent;
}

size_t cts_take(cts_connection *connection, uint8_t *bytes, size_t capacity) {
    int count = BIO_read(SSL_get_wbio(connection->ssl), bytes, (int)capacity);
    return count > 0 ? (size_t)count : 0;
}
