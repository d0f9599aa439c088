// The client's side of a TLS handshake with the transport's own settings, and without its event loop.
//
// So tests can ask for the certificate of any host, whatever the system's name service knows.
#pragma once

#include <stdint.h>

/// What one handshake came to.
typedef struct {
    /// Whether it is complete.
    int is_established;
    /// OpenSSL's verdict on the certificates: `X509_V_ERR_…`, 0 when they are accepted.
    int certificate_code;
} cth_outcome;

/// Performs a handshake on a connected blocking socket, which stays the caller's, with a server of that host.
///
/// `host` NULL leaves out to say whose certificate is expected.
cth_outcome cth_handshake(const char *_Nonnull trust_anchors, const char *_Nullable host, int socket);
