// The identity and the blocking server connection of CTestServerTLS.h, over OpenSSL 3.
//
// Owned by the test server: one identity a server, one connection a connection thread.
#include "CTestServerTLS.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct ctts_identity {
    SSL_CTX *context;
    BIO_METHOD *socket_method;
    char *ca_pem;
};

struct ctts_connection {
    SSL *ssl;
};

// A socket BIO of our own: OpenSSL's writes with write(2), which raises SIGPIPE on a closed peer.

static int socket_of(BIO *bio) { return (int)(intptr_t)BIO_get_data(bio); }

static int socket_write(BIO *bio, const char *bytes, int count) {
    ssize_t sent;
    do {
#ifdef MSG_NOSIGNAL
        sent = send(socket_of(bio), bytes, (size_t)count, MSG_NOSIGNAL);
#else
        sent = send(socket_of(bio), bytes, (size_t)count, 0);
#endif
    } while (sent < 0 && errno == EINTR);
    return (int)sent;
}

static int socket_read(BIO *bio, char *bytes, int capacity) {
    ssize_t received;
    do {
        received = recv(socket_of(bio), bytes, (size_t)capacity, 0);
    } while (received < 0 && errno == EINTR);
    return (int)received;
}

static long socket_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *make_socket_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "test server socket");
    if (method == NULL) return NULL;
    BIO_meth_set_write(method, socket_write);
    BIO_meth_set_read(method, socket_read);
    BIO_meth_set_ctrl(method, socket_control);
    return method;
}

static int add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (extension == NULL) return 0;
    int added = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

static X509 *make_certificate(const char *name, EVP_PKEY *key, X509 *issuer, int is_expired) {
    static const long day = 24 * 60 * 60;
    X509 *certificate = X509_new();
    if (certificate == NULL) return NULL;
    uint64_t serial = 0;
    X509_NAME *subject = X509_get_subject_name(certificate);
    X509_NAME *issuer_name = issuer == NULL ? subject : X509_get_subject_name(issuer);
    int made = RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
        X509_set_version(certificate, X509_VERSION_3) == 1 &&
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1 &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), -2 * day) != NULL &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), is_expired ? -day : 30 * day) != NULL &&
        X509_set_pubkey(certificate, key) == 1 &&
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0) == 1 &&
        X509_set_issuer_name(certificate, issuer_name) == 1;
    if (made) return certificate;
    X509_free(certificate);
    return NULL;
}

static X509 *make_ca(EVP_PKEY *key) {
    X509 *ca = make_certificate("ChappieTestServer CA", key, NULL, 0);
    if (ca == NULL) return NULL;
    int made = add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE") == 1 &&
        add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign") == 1 &&
        add_extension(ca, ca, NID_subject_key_identifier, "hash") == 1 && X509_sign(ca, key, EVP_sha256()) > 0;
    if (made) return ca;
    X509_free(ca);
    return NULL;
}

static X509 *make_leaf(EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key, ctts_certificate_kind kind) {
    int is_wrong = kind == CTTS_CERTIFICATE_WRONG_NAME;
    const char *names = is_wrong ? "DNS:wrong.invalid" : "DNS:localhost,IP:127.0.0.1,IP:::1";
    X509 *leaf = make_certificate(is_wrong ? "wrong.invalid" : "localhost", key, ca, kind == CTTS_CERTIFICATE_EXPIRED);
    if (leaf == NULL) return NULL;
    int made = add_extension(leaf, ca, NID_basic_constraints, "critical,CA:FALSE") == 1 &&
        add_extension(leaf, ca, NID_key_usage, "critical,digitalSignature") == 1 &&
        add_extension(leaf, ca, NID_ext_key_usage, "serverAuth") == 1 &&
        add_extension(leaf, ca, NID_subject_key_identifier, "hash") == 1 &&
        add_extension(leaf, ca, NID_authority_key_identifier, "keyid") == 1 &&
        add_extension(leaf, ca, NID_subject_alt_name, names) == 1 && X509_sign(leaf, ca_key, EVP_sha256()) > 0;
    if (made) return leaf;
    X509_free(leaf);
    return NULL;
}

static char *pem_text(X509 *certificate) {
    BIO *memory = BIO_new(BIO_s_mem());
    if (memory == NULL) return NULL;
    char *text = NULL;
    if (PEM_write_bio_X509(memory, certificate) == 1) {
        char *bytes = NULL;
        long count = BIO_get_mem_data(memory, &bytes);
        text = count > 0 ? strndup(bytes, (size_t)count) : NULL;
    }
    BIO_free(memory);
    return text;
}

// Both transports are HTTP/1.1 here: a client that offers ALPN gets that or nothing.
static int select_protocol(
    SSL *ssl, const unsigned char **out, unsigned char *out_count, const unsigned char *offered, unsigned int count,
    void *unused
) {
    static const unsigned char supported[] = "\x08http/1.1";
    (void)ssl;
    (void)unused;
    int found = SSL_select_next_proto((unsigned char **)out, out_count, supported, sizeof supported - 1, offered, count);
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static SSL_CTX *make_context(X509 *leaf, EVP_PKEY *key) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL) return NULL;
    SSL_CTX_set_alpn_select_cb(context, select_protocol, NULL);
    if (SSL_CTX_use_certificate(context, leaf) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1) return context;
    SSL_CTX_free(context);
    return NULL;
}

ctts_identity *ctts_identity_create(ctts_certificate_kind kind) {
    ctts_identity *identity = calloc(1, sizeof *identity);
    EVP_PKEY *ca_key = EVP_EC_gen("P-256");
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *ca = ca_key == NULL ? NULL : make_ca(ca_key);
    X509 *leaf = ca == NULL || key == NULL ? NULL : make_leaf(key, ca, ca_key, kind);
    if (identity != NULL && leaf != NULL) {
        identity->context = make_context(leaf, key);
        identity->socket_method = make_socket_method();
        identity->ca_pem = pem_text(ca);
    }
    X509_free(leaf);
    X509_free(ca);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ca_key);
    if (identity == NULL) return NULL;
    if (identity->context != NULL && identity->socket_method != NULL && identity->ca_pem != NULL) return identity;
    ctts_identity_free(identity);
    return NULL;
}

void ctts_identity_free(ctts_identity *identity) {
    SSL_CTX_free(identity->context);
    BIO_meth_free(identity->socket_method);
    free(identity->ca_pem);
    free(identity);
}

const char *ctts_identity_ca_pem(const ctts_identity *identity) { return identity->ca_pem; }

ctts_connection *ctts_accept(ctts_identity *identity, int socket) {
    ctts_connection *connection = calloc(1, sizeof *connection);
    SSL *ssl = SSL_new(identity->context);
    BIO *bio = BIO_new(identity->socket_method);
    if (connection == NULL || ssl == NULL || bio == NULL) {
        BIO_free(bio);
        SSL_free(ssl);
        free(connection);
        return NULL;
    }
    BIO_set_data(bio, (void *)(intptr_t)socket);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    connection->ssl = ssl;
    ERR_clear_error();
    if (SSL_accept(ssl) == 1) return connection;
    ERR_clear_error();
    ctts_connection_free(connection);
    return NULL;
}

long ctts_read(ctts_connection *connection, uint8_t *bytes, size_t capacity) {
    ERR_clear_error();
    size_t count = 0;
    if (SSL_read_ex(connection->ssl, bytes, capacity, &count) == 1) return (long)count;
    int reason = SSL_get_error(connection->ssl, 0);
    ERR_clear_error();
    return reason == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

int ctts_write(ctts_connection *connection, const uint8_t *bytes, size_t count) {
    ERR_clear_error();
    size_t written = 0;
    if (count == 0 || (SSL_write_ex(connection->ssl, bytes, count, &written) == 1 && written == count)) return 0;
    ERR_clear_error();
    return -1;
}

size_t ctts_pending(ctts_connection *connection) { return (size_t)SSL_pending(connection->ssl); }

void ctts_shutdown(ctts_connection *connection) {
    ERR_clear_error();
    SSL_shutdown(connection->ssl);
    ERR_clear_error();
}

void ctts_connection_free(ctts_connection *connection) {
    SSL_free(connection->ssl);
    free(connection);
}
