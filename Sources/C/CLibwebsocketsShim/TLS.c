// One TLS connection over memory: OpenSSL's state machine between received bytes and bytes to be sent.
#include "Internal.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// MARK: What OpenSSL reads and writes

static int read_input(BIO *bio, char *bytes, int count) {
    clws_tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->input_count == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t taken = (size_t)count < tls->input_count ? (size_t)count : tls->input_count;
    memcpy(bytes, tls->input, taken);
    tls->input += taken;
    tls->input_count -= taken;
    return (int)taken;
}

static int write_output(BIO *bio, const char *bytes, int count) {
    clws_tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    // `CLWS_TLS_OVERHEAD` is enough, unless a peer requests thousands of answers in one read.
    if ((size_t)count > tls->output_capacity - tls->output_count) return -1;
    memcpy(tls->output + tls->output_count, bytes, (size_t)count);
    tls->output_count += (size_t)count;
    return count;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method;

static void make_method(void) {
    BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "memory");
    if (made && BIO_meth_set_read(made, read_input) && BIO_meth_set_write(made, write_output) &&
        BIO_meth_set_ctrl(made, control))
        method = made;
}

static bool set_bio(clws_tls *tls) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_method);
    BIO *bio = method ? BIO_new(method) : NULL;
    if (!bio) return false;
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    return true;
}

// MARK: Connections

clws_tls *clws_tls_create(clws_tls_context *context, const char *host, uint16_t port) {
    clws_tls *tls = calloc(1, sizeof *tls);
    if (!tls) return NULL;
    tls->context = context;
    tls->ssl = SSL_new(context->ssl_context);
    if (!tls->ssl || !set_bio(tls) || !clws_tls_attach(tls) || !clws_server_make(&tls->server, host, port) ||
        !clws_server_demand(&tls->server, tls->ssl)) {
        ERR_clear_error();
        clws_tls_free(tls);
        return NULL;
    }
    SSL_set_connect_state(tls->ssl);
    SSL_SESSION *session = clws_sessions_take(&context->sessions, &tls->server);
    if (session) SSL_set_session(tls->ssl, session);
    SSL_SESSION_free(session);
    return tls;
}

clws_tls *clws_tls_create_for_client(clws_tls_context *context) {
    clws_tls *tls = calloc(1, sizeof *tls);
    if (!tls) return NULL;
    tls->context = context;
    tls->ssl = SSL_new(context->ssl_context);
    if (!tls->ssl || !set_bio(tls) || !clws_tls_attach(tls)) {
        ERR_clear_error();
        clws_tls_free(tls);
        return NULL;
    }
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void clws_tls_free(clws_tls *tls) {
    if (!tls) return;
    SSL_free(tls->ssl);
    free(tls->issuer);
    sk_X509_pop_free(tls->rejected, X509_free);
    free(tls);
}

// MARK: Steps

static clws_tls_state state_of(const clws_tls *tls) {
    if (tls->has_failed) return CLWS_TLS_FAILED;
    if (SSL_get_shutdown(tls->ssl) & SSL_RECEIVED_SHUTDOWN) return CLWS_TLS_ENDED;
    return SSL_is_init_finished(tls->ssl) ? CLWS_TLS_OPEN : CLWS_TLS_HANDSHAKING;
}

// Returns whether OpenSSL merely has no more input; otherwise the connection has ended or failed.
static bool goes_on(clws_tls *tls, int result) {
    int error = SSL_get_error(tls->ssl, result);
    if (error == SSL_ERROR_WANT_READ) return true;
    // The end of the data is none of a handshake.
    if (error != SSL_ERROR_ZERO_RETURN || !SSL_is_init_finished(tls->ssl)) tls->has_failed = true;
    return false;
}

static void begin(clws_tls *tls, const uint8_t *bytes, size_t count, uint8_t *output, size_t capacity) {
    tls->input = bytes;
    tls->input_count = count;
    tls->output = output;
    tls->output_capacity = capacity;
    tls->output_count = 0;
}

static clws_tls_step end(clws_tls *tls, size_t plaintext_count) {
    ERR_clear_error();
    return (clws_tls_step){
        .state = state_of(tls), .plaintext_count = plaintext_count, .ciphertext_count = tls->output_count};
}

clws_tls_step clws_tls_start(clws_tls *tls, uint8_t *ciphertext, size_t capacity) {
    begin(tls, NULL, 0, ciphertext, capacity);
    goes_on(tls, SSL_do_handshake(tls->ssl));
    return end(tls, 0);
}

// Returns whether bytes begin a response (RFC 9112 section 4), with which servers without TLS answer a handshake.
static bool is_response(const uint8_t *bytes, size_t count) {
    static const char version[] = "HTTP/";
    return count >= sizeof version - 1 && memcmp(bytes, version, sizeof version - 1) == 0;
}

// Returns whether bytes may begin a record (RFC 8446 section 5.1): with its type, and the first byte of its version.
static bool may_be_record(const uint8_t *bytes, size_t count) {
    bool has_type = bytes[0] >= SSL3_RT_CHANGE_CIPHER_SPEC && bytes[0] <= SSL3_RT_APPLICATION_DATA;
    return has_type && (count < 2 || bytes[1] == SSL3_VERSION_MAJOR);
}

clws_tls_step clws_tls_receive(
    clws_tls *tls, const uint8_t *bytes, size_t count, uint8_t *plaintext, size_t plaintext_capacity,
    uint8_t *ciphertext, size_t ciphertext_capacity) {
    size_t total = 0;
    if (count > 0 && !tls->has_received) tls->is_not_tls = !may_be_record(bytes, count);
    tls->has_received = tls->has_received || count > 0;
    begin(tls, bytes, count, ciphertext, ciphertext_capacity);
    while (!tls->has_failed && total < plaintext_capacity) {
        size_t taken = 0;
        int result = SSL_read_ex(tls->ssl, plaintext + total, plaintext_capacity - total, &taken);
        total += taken;
        if (result <= 0) {
            goes_on(tls, result);
            break;
        }
    }
    if (tls->has_failed && is_response(bytes, count)) tls->is_answered_in_http = true;
    return end(tls, total);
}

clws_tls_step clws_tls_send(
    clws_tls *tls, const uint8_t *bytes, size_t count, uint8_t *ciphertext, size_t capacity) {
    size_t written = 0;
    begin(tls, NULL, 0, ciphertext, capacity);
    if (!tls->has_failed && count > 0 && SSL_write_ex(tls->ssl, bytes, count, &written) != 1) tls->has_failed = true;
    return end(tls, 0);
}

clws_tls_step clws_tls_end(clws_tls *tls, uint8_t *ciphertext, size_t capacity) {
    begin(tls, NULL, 0, ciphertext, capacity);
    bool was_told = SSL_get_shutdown(tls->ssl) & SSL_SENT_SHUTDOWN;
    if (!tls->has_failed && SSL_is_init_finished(tls->ssl) && !was_told) SSL_shutdown(tls->ssl);
    return end(tls, 0);
}

bool clws_tls_is_resumed(const clws_tls *tls) { return SSL_session_reused(tls->ssl) == 1; }

clws_details clws_tls_details(const clws_tls *tls) {
    clws_details details = {
        .certificate_code = tls->certificate_code,
        .alert = tls->alert,
        .certificate_depth = tls->certificate_depth,
        .is_key_not_pinned = tls->is_key_not_pinned,
        .is_alert_received = tls->is_alert_received,
        .is_answered_in_http = tls->is_answered_in_http,
        .is_not_tls = tls->is_not_tls,
    };
    if (tls->issuer) memcpy(details.issuer, tls->issuer, strlen(tls->issuer));
    return details;
}

const char *clws_tls_version(void) { return OpenSSL_version(OPENSSL_VERSION_STRING); }
