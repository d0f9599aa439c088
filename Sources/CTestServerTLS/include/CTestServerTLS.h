// TLS for the test server: a certificate made on the spot and a blocking server side over a connected socket.
//
// A flat C interface over OpenSSL 3. No OpenSSL type appears here. Sockets stay the caller's; everything else
// is freed by the function that names it.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// What the leaf certificate looks like to a client that trusts the CA.
typedef enum {
    /// Valid for localhost, 127.0.0.1 and ::1.
    CTTS_CERTIFICATE_VALID = 0,
    /// The right names, but its validity ended a day ago.
    CTTS_CERTIFICATE_EXPIRED = 1,
    /// Valid in time, but for `wrong.invalid` only.
    CTTS_CERTIFICATE_WRONG_NAME = 2,
} ctts_certificate_kind;

/// A CA, a leaf certificate that it signed, and the server context that presents the leaf.
typedef struct ctts_identity ctts_identity;

/// The server side of one TLS connection.
typedef struct ctts_connection ctts_connection;

/// Makes two EC P-256 keys and both certificates; null when OpenSSL fails.
ctts_identity *_Nullable ctts_identity_create(ctts_certificate_kind kind);

/// Frees the identity; every connection made from it must be gone.
void ctts_identity_free(ctts_identity *_Nonnull identity);

/// The CA certificate as PEM text, ended by a null byte and owned by the identity.
const char *_Nonnull ctts_identity_ca_pem(const ctts_identity *_Nonnull identity);

/// Performs the handshake on a connected blocking socket; null when it fails.
ctts_connection *_Nullable ctts_accept(ctts_identity *_Nonnull identity, int socket);

/// Reads up to `capacity` bytes: their count, 0 at the end of the stream, -1 on an error.
long ctts_read(ctts_connection *_Nonnull connection, uint8_t *_Nonnull bytes, size_t capacity);

/// Writes all `count` bytes: 0, or -1 on an error. Never raises SIGPIPE.
int ctts_write(ctts_connection *_Nonnull connection, const uint8_t *_Nonnull bytes, size_t count);

/// The count of decrypted bytes that the next read returns without touching the socket.
size_t ctts_pending(ctts_connection *_Nonnull connection);

/// Sends close_notify; does not wait for the peer's.
void ctts_shutdown(ctts_connection *_Nonnull connection);

/// Frees the connection and leaves the socket open. Sends nothing.
void ctts_connection_free(ctts_connection *_Nonnull connection);
