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
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct ctts_identity {
    SSL_CTX *context;
    BIO_METHOD *socket_method;
    char *ca_pem;
    char *leaf_pem;
    char *leaf_key_pem;
    char *client_pem;
    char *client_key_pem;
};

struct ctts_connection {
    SSL *ssl;
    uint64_t hello_digest;
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

// The names and times of a certificate.
typedef struct {
    const char *name;
    X509 *issuer; // NULL: itself
    long first_day; // from today
    long last_day;
} description;

static X509 *make_certificate(description wanted, EVP_PKEY *key) {
    static const long day = 24 * 60 * 60;
    X509 *certificate = X509_new();
    if (certificate == NULL) return NULL;
    uint64_t serial = 0;
    X509_NAME *subject = X509_get_subject_name(certificate);
    X509_NAME *issuer_name = wanted.issuer == NULL ? subject : X509_get_subject_name(wanted.issuer);
    int made = RAND_bytes((unsigned char *)&serial, sizeof serial) == 1 &&
        X509_set_version(certificate, X509_VERSION_3) == 1 &&
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1 &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), wanted.first_day * day) != NULL &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), wanted.last_day * day) != NULL &&
        X509_set_pubkey(certificate, key) == 1 &&
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)wanted.name, -1, -1, 0) == 1 &&
        X509_set_issuer_name(certificate, issuer_name) == 1;
    if (made) return certificate;
    X509_free(certificate);
    return NULL;
}

// `issuer_key` is `key` itself for an authority without an issuer.
static X509 *make_authority(description wanted, EVP_PKEY *key, EVP_PKEY *issuer_key) {
    X509 *authority = make_certificate(wanted, key);
    if (authority == NULL) return NULL;
    X509 *issuer = wanted.issuer == NULL ? authority : wanted.issuer;
    int made = add_extension(authority, issuer, NID_basic_constraints, "critical,CA:TRUE") == 1 &&
        add_extension(authority, issuer, NID_key_usage, "critical,keyCertSign,cRLSign") == 1 &&
        add_extension(authority, issuer, NID_subject_key_identifier, "hash") == 1 &&
        X509_sign(authority, issuer_key, EVP_sha256()) > 0;
    if (made) return authority;
    X509_free(authority);
    return NULL;
}

static X509 *make_ca(const char *name, EVP_PKEY *key) {
    description wanted = {.name = name == NULL ? "ChappieTestServer CA" : name, .first_day = -2, .last_day = 30};
    return make_authority(wanted, key, key);
}

static X509 *make_intermediate(const ctts_identity_options *options, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key) {
    description wanted = {
        .name = "ChappieTestServer Intermediate",
        .issuer = ca,
        .first_day = -2,
        .last_day = options->intermediate == CTTS_INTERMEDIATE_EXPIRED ? -1 : 30,
    };
    return make_authority(wanted, key, ca_key);
}

static int add_leaf_extensions(X509 *leaf, X509 *issuer, const char *names, const char *usage) {
    return add_extension(leaf, issuer, NID_basic_constraints, "critical,CA:FALSE") == 1 &&
        add_extension(leaf, issuer, NID_key_usage, "critical,digitalSignature") == 1 &&
        add_extension(leaf, issuer, NID_ext_key_usage, usage) == 1 &&
        add_extension(leaf, issuer, NID_subject_key_identifier, "hash") == 1 &&
        add_extension(leaf, issuer, NID_authority_key_identifier, "keyid") == 1 &&
        (names[0] == 0 || add_extension(leaf, issuer, NID_subject_alt_name, names) == 1);
}

// The address of the issuer's certificate (RFC 5280 section 4.2.2.1), which leads nowhere.
static int locate_issuer(const ctts_identity_options *options, X509 *leaf, X509 *issuer) {
    return options->intermediate == CTTS_INTERMEDIATE_NONE ||
        add_extension(leaf, issuer, NID_info_access, "caIssuers;URI:http://ca.invalid/intermediate.cer") == 1;
}

static X509 *make_leaf(const ctts_identity_options *options, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key) {
    int is_wrong = options->kind == CTTS_CERTIFICATE_WRONG_NAME;
    int is_alone = options->kind == CTTS_CERTIFICATE_SELF_SIGNED;
    const char *names = is_wrong ? "DNS:wrong.invalid" : "DNS:localhost,IP:127.0.0.1,IP:::1";
    const char *common_name = is_wrong ? "wrong.invalid" : "localhost";
    description wanted = {
        .name = options->common_name == NULL ? common_name : options->common_name,
        .issuer = is_alone ? NULL : ca,
        .first_day = options->kind == CTTS_CERTIFICATE_NOT_YET_VALID ? 1 : -2,
        .last_day = options->kind == CTTS_CERTIFICATE_EXPIRED ? -1 : 30,
    };
    X509 *leaf = make_certificate(wanted, key);
    if (leaf == NULL) return NULL;
    if (options->names != NULL) names = options->names;
    if (add_leaf_extensions(leaf, is_alone ? leaf : ca, names, "serverAuth") && locate_issuer(options, leaf, ca) &&
        X509_sign(leaf, is_alone ? key : ca_key, EVP_sha256()) > 0)
        return leaf;
    X509_free(leaf);
    return NULL;
}

static char *text_of(BIO *memory, int is_written) {
    char *bytes = NULL;
    long count = is_written == 1 ? BIO_get_mem_data(memory, &bytes) : 0;
    char *text = count > 0 ? strndup(bytes, (size_t)count) : NULL;
    BIO_free(memory);
    return text;
}

static char *pem_text(X509 *certificate) {
    BIO *memory = BIO_new(BIO_s_mem());
    return memory == NULL ? NULL : text_of(memory, PEM_write_bio_X509(memory, certificate));
}

static char *key_text(EVP_PKEY *key) {
    BIO *memory = BIO_new(BIO_s_mem());
    return memory == NULL ? NULL : text_of(memory, PEM_write_bio_PrivateKey(memory, key, NULL, NULL, 0, NULL, NULL));
}

// Issues a client certificate of the CA, and makes the server require one.
static int require_client(ctts_identity *identity, X509 *ca, EVP_PKEY *ca_key) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    description wanted = {.name = "client", .issuer = ca, .first_day = -2, .last_day = 30};
    X509 *client = key == NULL ? NULL : make_certificate(wanted, key);
    int made = client != NULL && add_leaf_extensions(client, ca, "", "clientAuth") &&
        X509_sign(client, ca_key, EVP_sha256()) > 0 &&
        X509_STORE_add_cert(SSL_CTX_get_cert_store(identity->context), ca) == 1 &&
        // Without it no session could be resumed (SSL_CTX_set_session_id_context's documentation).
        SSL_CTX_set_session_id_context(identity->context, (const unsigned char *)"test", 4) == 1;
    if (made) {
        SSL_CTX_set_verify(identity->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        identity->client_pem = pem_text(client);
        identity->client_key_pem = key_text(key);
    }
    X509_free(client);
    EVP_PKEY_free(key);
    return identity->client_pem != NULL && identity->client_key_pem != NULL;
}

// Both transports use HTTP/1.1 here: a client that offers ALPN gets that protocol or none.
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

static SSL_CTX *make_context(int version, X509 *leaf, EVP_PKEY *key) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL) return NULL;
    SSL_CTX_set_alpn_select_cb(context, select_protocol, NULL);
    // Versions before 1.2 have signatures that are not allowed above this level.
    if (version != 0 && version < TLS1_2_VERSION) SSL_CTX_set_security_level(context, 0);
    if (SSL_CTX_set_min_proto_version(context, version == 0 ? TLS1_2_VERSION : version) == 1 &&
        SSL_CTX_set_max_proto_version(context, version) == 1 && SSL_CTX_use_certificate(context, leaf) == 1 &&
        SSL_CTX_use_PrivateKey(context, key) == 1)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

// Makes the leaf, and the context that presents it; the caller frees it.
static X509 *make_presented(
    ctts_identity *identity, const ctts_identity_options *options, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key
) {
    if (options->intermediate == CTTS_INTERMEDIATE_NONE) {
        X509 *leaf = make_leaf(options, key, ca, ca_key);
        if (leaf != NULL) identity->context = make_context(options->version, leaf, key);
        return leaf;
    }
    EVP_PKEY *between_key = EVP_EC_gen("P-256");
    X509 *between = between_key == NULL ? NULL : make_intermediate(options, between_key, ca, ca_key);
    X509 *leaf = between == NULL ? NULL : make_leaf(options, key, between, between_key);
    if (leaf != NULL) identity->context = make_context(options->version, leaf, key);
    if (identity->context != NULL && options->intermediate != CTTS_INTERMEDIATE_MISSING &&
        SSL_CTX_add1_chain_cert(identity->context, between) != 1) {
        X509_free(leaf);
        leaf = NULL;
    }
    X509_free(between);
    EVP_PKEY_free(between_key);
    return leaf;
}

static int fill(ctts_identity *identity, const ctts_identity_options *options, EVP_PKEY *ca_key, EVP_PKEY *key) {
    X509 *ca = ca_key == NULL ? NULL : make_ca(options->ca_name, ca_key);
    X509 *leaf = ca == NULL || key == NULL ? NULL : make_presented(identity, options, key, ca, ca_key);
    if (leaf != NULL) {
        identity->socket_method = make_socket_method();
        identity->ca_pem = pem_text(ca);
        identity->leaf_pem = pem_text(leaf);
        identity->leaf_key_pem = key_text(key);
    }
    int made = identity->context != NULL && identity->socket_method != NULL && identity->ca_pem != NULL &&
        identity->leaf_pem != NULL && identity->leaf_key_pem != NULL &&
        (!options->requires_client_certificate || require_client(identity, ca, ca_key));
    X509_free(leaf);
    X509_free(ca);
    return made;
}

ctts_identity *ctts_identity_create(const ctts_identity_options *options) {
    ctts_identity *identity = calloc(1, sizeof *identity);
    if (identity == NULL) return NULL;
    EVP_PKEY *ca_key = EVP_EC_gen("P-256");
    EVP_PKEY *key = EVP_EC_gen("P-256");
    int made = fill(identity, options, ca_key, key);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ca_key);
    if (made) return identity;
    ctts_identity_free(identity);
    return NULL;
}

void ctts_identity_free(ctts_identity *identity) {
    SSL_CTX_free(identity->context);
    BIO_meth_free(identity->socket_method);
    free(identity->ca_pem);
    free(identity->leaf_pem);
    free(identity->leaf_key_pem);
    free(identity->client_pem);
    free(identity->client_key_pem);
    free(identity);
}

const char *ctts_identity_ca_pem(const ctts_identity *identity) { return identity->ca_pem; }

const char *ctts_identity_leaf_pem(const ctts_identity *identity) { return identity->leaf_pem; }

const char *ctts_identity_leaf_key_pem(const ctts_identity *identity) { return identity->leaf_key_pem; }

const char *ctts_identity_client_pem(const ctts_identity *identity) { return identity->client_pem; }

const char *ctts_identity_client_key_pem(const ctts_identity *identity) { return identity->client_key_pem; }

// Returns whether a cipher suite is a random one that means nothing (RFC 8701).
static bool is_grease(const unsigned char *suite) { return suite[0] == suite[1] && (suite[0] & 0x0f) == 0x0a; }

// Returns whether an extension depends on the connection: the host's name, padding, a resumption, a cookie.
static bool is_of_connection(int extension) {
    return extension == TLSEXT_TYPE_server_name || extension == TLSEXT_TYPE_padding ||
        extension == TLSEXT_TYPE_psk || extension == TLSEXT_TYPE_early_data || extension == TLSEXT_TYPE_cookie;
}

// FNV-1a over the bytes of a number of two bytes.
static uint64_t mixed(uint64_t digest, unsigned int number) {
    digest = (digest ^ (number >> 8 & 0xff)) * 0x100000001b3;
    return (digest ^ (number & 0xff)) * 0x100000001b3;
}

static int note_hello(SSL *ssl, int *alert, void *unused) {
    (void)alert;
    (void)unused;
    ctts_connection *connection = SSL_get_app_data(ssl);
    // A client that is asked for another key share sends two.
    if (connection == NULL || connection->hello_digest != 0) return SSL_CLIENT_HELLO_SUCCESS;
    const unsigned char *suites = NULL;
    size_t count = SSL_client_hello_get0_ciphers(ssl, &suites);
    uint64_t digest = mixed(0xcbf29ce484222325, SSL_client_hello_get0_legacy_version(ssl));
    for (size_t index = 0; index + 1 < count; index += 2)
        if (!is_grease(suites + index)) digest = mixed(digest, suites[index] << 8 | suites[index + 1]);
    int *extensions = NULL;
    if (SSL_client_hello_get1_extensions_present(ssl, &extensions, &count) == 1) {
        for (size_t index = 0; index < count; index++)
            if (!is_of_connection(extensions[index])) digest = mixed(digest, (unsigned int)extensions[index]);
        OPENSSL_free(extensions);
    }
    connection->hello_digest = digest;
    return SSL_CLIENT_HELLO_SUCCESS;
}

void ctts_identity_note_hellos(ctts_identity *identity) {
    SSL_CTX_set_client_hello_cb(identity->context, note_hello, NULL);
}

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
    SSL_set_app_data(ssl, connection);
    ERR_clear_error();
    if (SSL_accept(ssl) == 1) return connection;
    ERR_clear_error();
    ctts_connection_free(connection);
    return NULL;
}

const char *ctts_server_name(ctts_connection *connection) {
    return SSL_get_servername(connection->ssl, TLSEXT_NAMETYPE_host_name);
}

const char *ctts_version(ctts_connection *connection) { return SSL_get_version(connection->ssl); }

const char *ctts_cipher_suite(ctts_connection *connection) {
    const SSL_CIPHER *suite = SSL_get_current_cipher(connection->ssl);
    return suite == NULL ? NULL : SSL_CIPHER_standard_name(suite);
}

uint64_t ctts_hello_digest(ctts_connection *connection) { return connection->hello_digest; }

bool ctts_is_resumed(ctts_connection *connection) { return SSL_session_reused(connection->ssl) == 1; }

void ctts_send_alert(ctts_connection *connection) {
    // OpenSSL has no function that sends an alert. It sends this one for a damaged record, so it is given one.
    static const char damaged[5 + 32] = {0x17, 0x03, 0x03, 0x00, 0x20};
    BIO *input = BIO_new_mem_buf(damaged, sizeof damaged);
    if (input == NULL) return;
    SSL_set0_rbio(connection->ssl, input);
    char byte;
    SSL_read(connection->ssl, &byte, 1);
    ERR_clear_error();
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

void ctts_sha1(const uint8_t *bytes, size_t count, uint8_t *digest) { SHA1(bytes, count, digest); }

void ctts_sha256(const uint8_t *bytes, size_t count, uint8_t *digest) { SHA256(bytes, count, digest); }
