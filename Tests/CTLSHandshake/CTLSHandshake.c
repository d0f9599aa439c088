#include "CTLSHandshake.h"

#include "../../Sources/CLibwebsocketsShim/Internal.h"

#include <openssl/err.h>
#include <string.h>

// What libwebsockets does with a connection before its handshake, the wrong things included.
static SSL *make_connection(clws_route *route, int socket) {
    SSL *ssl = SSL_new(route->tls);
    BIO *bio = BIO_new_socket(socket, BIO_NOCLOSE);
    if (!ssl || !bio) {
        SSL_free(ssl);
        BIO_free(bio);
        return NULL;
    }
    SSL_set_bio(ssl, bio, bio);
    X509_VERIFY_PARAM_set1_host(SSL_get0_param(ssl), "[", 0);
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), "192.0.2.1");
    SSL_set_tlsext_host_name(ssl, "[");
    return ssl;
}

cth_outcome cth_handshake(const char *trust_anchors, const char *host, int socket) {
    cth_outcome outcome = {0};
    clws_route route;
    memset(&route, 0, sizeof route);
    clws_route_fault fault;
    clws_tls_options options = {.trust = clws_trust_create(trust_anchors)};
    clws_server server;
    if (!options.trust || !clws_tls_create(&route, &options, &fault)) return outcome;
    SSL *ssl = make_connection(&route, socket);
    if (ssl && (!host || (clws_server_make(&server, host, 443) && clws_servers_put(&route.servers, socket, &server)))) {
        outcome.is_established = SSL_connect(ssl) == 1;
        outcome.certificate_code = clws_tls_details(ssl).certificate_code;
    }
    SSL_free(ssl);
    clws_tls_free(&route);
    X509_STORE_free((X509_STORE *)options.trust);
    ERR_clear_error();
    return outcome;
}
