// The client's side of TLS handshakes with the transport's own settings, and without its event loop.
//
// So tests can ask for the certificate of any host, whatever the system's name service knows.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Settings with their sessions, for one thread at a time.
typedef struct cth_client cth_client;

/// The result of one handshake.
typedef struct {
    /// Indicates whether it is complete.
    int is_established;
    /// Indicates whether it has resumed a session.
    int is_resumed;
    /// OpenSSL's verdict on the certificates: `X509_V_ERR_…`, 0 when they are accepted.
    int certificate_code;
} cth_outcome;

/// Makes a client that trusts a PEM file; null when it cannot be read.
cth_client *_Nullable cth_client_create(const char *_Nonnull trust_anchors);

/// Frees it.
void cth_client_free(cth_client *_Nonnull client);

/// Performs a handshake on a connected blocking socket, which stays the caller's, with a server of that host and port.
///
/// There is no handshake when `host` cannot be the name of a server. With `reads`, the first byte that the server sends is
/// waited for, and with it the tickets of TLS 1.3 that come before it. With `ends`, the server is told of the end.
cth_outcome cth_handshake(
    cth_client *_Nonnull client, const char *_Nonnull host, uint16_t port, int socket, bool reads, bool ends);
