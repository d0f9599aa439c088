#include "CTLSHandshake.h"

#include "CLibwebsocketsShim.h"

#include <openssl/x509.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    RECEIVED = 4096,
};

struct cth_client {
    clws_trust *trust;
    clws_tls_context *context;
};

cth_client *cth_client_create(const char *trust_anchors) {
    cth_client *client = calloc(1, sizeof *client);
    if (!client) return NULL;
    client->trust = clws_trust_create(trust_anchors);
    clws_tls_options options = {.trust = client->trust};
    clws_tls_context_fault fault;
    client->context = client->trust ? clws_tls_context_create(&options, &fault) : NULL;
    if (client->context) return client;
    cth_client_free(client);
    return NULL;
}

// The shim never frees anchors, because the contexts of a process share them; here these have one user.
void cth_client_free(cth_client *client) {
    clws_tls_context_free(client->context);
    X509_STORE_free((X509_STORE *)client->trust);
    free(client);
}

// Sends the ciphertext of a step.
static clws_tls_step deliver(clws_tls_step step, int socket, const uint8_t *ciphertext) {
    size_t sent = 0;
    while (sent < step.ciphertext_count) {
        ptrdiff_t count = send(socket, ciphertext + sent, step.ciphertext_count - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += (size_t)count;
    }
    return step;
}

cth_outcome cth_handshake(
    cth_client *client, const char *host, uint16_t port, int socket, bool reads, bool ends) {
    static _Thread_local uint8_t plaintext[RECEIVED + CLWS_TLS_OVERHEAD], ciphertext[CLWS_TLS_OVERHEAD];
    cth_outcome outcome = {0};
    clws_tls *tls = clws_tls_create(client->context, host, port);
    if (!tls) return outcome;
    clws_tls_step step = deliver(clws_tls_start(tls, ciphertext, sizeof ciphertext), socket, ciphertext);
    bool has_read = false;
    while (step.state == CLWS_TLS_HANDSHAKING || (step.state == CLWS_TLS_OPEN && reads && !has_read)) {
        uint8_t received[RECEIVED];
        ptrdiff_t count = recv(socket, received, sizeof received, 0);
        if (count <= 0) break;
        step = clws_tls_receive(
            tls, received, (size_t)count, plaintext, sizeof plaintext, ciphertext, sizeof ciphertext);
        deliver(step, socket, ciphertext);
        has_read = step.plaintext_count > 0;
    }
    outcome.is_established = step.state == CLWS_TLS_OPEN || step.state == CLWS_TLS_ENDED;
    outcome.is_resumed = clws_tls_is_resumed(tls);
    outcome.certificate_code = clws_tls_details(tls).certificate_code;
    if (ends) deliver(clws_tls_end(tls, ciphertext, sizeof ciphertext), socket, ciphertext);
    clws_tls_free(tls);
    return outcome;
}
