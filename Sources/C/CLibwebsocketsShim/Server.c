// The server that a connection was made for: its name is sent as SNI, and its certificate must contain it.
#include "Internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <openssl/x509v3.h>
#include <string.h>

// Reads an address, with or without a zone (RFC 4007 section 11), which certificates do not contain.
static size_t read_address(const char *host, uint8_t *address) {
    char text[INET6_ADDRSTRLEN];
    size_t length = strcspn(host, "%");
    if (length >= sizeof text) return 0;
    memcpy(text, host, length);
    text[length] = 0;
    if (inet_pton(AF_INET6, text, address) == 1) return 16;
    return inet_pton(AF_INET, host, address) == 1 ? 4 : 0;
}

bool clws_server_make(clws_server *server, const char *host, uint16_t port) {
    memset(server, 0, sizeof *server);
    server->port = port;
    server->address_length = read_address(host, server->address);
    if (server->address_length) return true;
    size_t length = strlen(host);
    // The dot marks a name as absolute. SNI and certificates omit it (RFC 6066 section 3, RFC 5280 4.2.1.6).
    if (length > 0 && host[length - 1] == '.') length--;
    if (length == 0 || length > CLWS_HOST_LIMIT || host[length - 1] == '.') return false;
    for (size_t i = 0; i < length; i++) server->name[i] = (char)tolower((unsigned char)host[i]);
    return true;
}

bool clws_server_equals(const clws_server *one, const clws_server *other) {
    return one->port == other->port && one->address_length == other->address_length &&
           memcmp(one->address, other->address, sizeof one->address) == 0 && strcmp(one->name, other->name) == 0;
}

bool clws_server_demand(const clws_server *server, SSL *ssl) {
    X509_VERIFY_PARAM *demands = SSL_get0_param(ssl);
    // A wildcard is a whole label, the left-most one, and common names do not name servers (RFC 9525 section 6.3).
    X509_VERIFY_PARAM_set_hostflags(demands, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (server->address_length)
        // RFC 6066 section 3: an address is not sent as SNI.
        return X509_VERIFY_PARAM_set1_host(demands, NULL, 0) == 1 &&
               X509_VERIFY_PARAM_set1_ip(demands, server->address, server->address_length) == 1 &&
               SSL_set_tlsext_host_name(ssl, NULL) == 1;
    return X509_VERIFY_PARAM_set1_ip(demands, NULL, 0) == 1 &&
           X509_VERIFY_PARAM_set1_host(demands, server->name, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, server->name) == 1;
}
