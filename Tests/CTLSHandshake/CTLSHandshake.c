#include "CTLSHandshake.h"

#include "../../Sources/CLibwebsocketsShim/Internal.h"

#include <openssl/err.h>
#include <signal.h>
#include <stdlib.h>

struct cth_client {
    clws_trust *trust;
    clws_route route;
};

cth_client *cth_client_create(const char *trust_anchors) {
    signal(SIGPIPE, SIG_IGN); // as libwebsockets does: OpenSSL writes to sockets whose peers have gone
    cth_client *client = calloc(1, sizeof *client);
    if (!client) return NULL;
    client->trust = clws_trust_create(trust_anchors);
    clws_tls_options options = {.trust = client->trust};
    clws_route_fault fault;
    if (client->trust && clws_tls_create(&client->route, &options, &fault)) return client;
    cth_client_free(client);
    return NULL;
}

void cth_client_free(cth_client *client) {
    clws_tls_free(&client->route);
    X509_STORE_free((X509_STORE *)client->trust);
    free(client);
}

// What libwebsockets does with a connection before its handshake, the wrong things included.
static SSL *make_connection(const clws_route *route, int socket) {
    SSL *ssl = SSL_new(route->tls);
    BIO *bio = BIO_new_socket(socket, BIO_NOCLOSE);
    if (!ssl || !bio) {
        SSL_free(ssl);
        BIO_free(bio);
        return NULL;
    }
    SSL_set_bio(ssl, bio, bio);
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), "192.0.2.1");
    SSL_set_tlsext_host_name(ssl, "[");
    return ssl;
}

cth_outcome cth_handshake(
    cth_client *client, const char *host, uint16_t port, int socket, bool reads, bool ends) {
    cth_outcome outcome = {0};
    clws_server server;
    SSL *ssl = make_connection(&client->route, socket);
    if (!ssl) return outcome;
    // And what it does for a name.
    if (host) X509_VERIFY_PARAM_set1_host(SSL_get0_param(ssl), "[", 0);
    if (!host || (clws_server_make(&server, host, port) && clws_servers_put(&client->route.servers, socket, &server))) {
        outcome.is_established = SSL_connect(ssl) == 1;
        outcome.is_resumed = SSL_session_reused(ssl);
        outcome.certificate_code = clws_tls_details(ssl).certificate_code;
        char byte;
        if (outcome.is_established && reads) SSL_read(ssl, &byte, 1);
    }
    if (ends) clws_tls_end(ssl);
    SSL_free(ssl);
    ERR_clear_error();
    return outcome;
}
