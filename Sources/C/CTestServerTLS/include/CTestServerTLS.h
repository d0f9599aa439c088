// TLS for the test server: a generated certificate, a blocking server side over a connected socket, and digests.
//
// A flat C interface over OpenSSL 3. No OpenSSL type appears here. Sockets belong to the caller; every other object is
// freed by the function that names it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The validity of the leaf certificate for a client that trusts the CA.
typedef enum {
    /// Valid for localhost, 127.0.0.1 and ::1.
    CTTS_CERTIFICATE_VALID = 0,
    /// The right names, but its validity ended a day ago.
    CTTS_CERTIFICATE_EXPIRED = 1,
    /// Valid in time, but for `wrong.invalid` only.
    CTTS_CERTIFICATE_WRONG_NAME = 2,
    /// The right names, but its validity begins tomorrow.
    CTTS_CERTIFICATE_NOT_YET_VALID = 3,
    /// The right names, but self-signed.
    CTTS_CERTIFICATE_SELF_SIGNED = 4,
} ctts_certificate_kind;

/// The authority between the CA and the leaf certificate, which has an address of that authority's certificate then.
typedef enum {
    /// None: the CA signs the leaf.
    CTTS_INTERMEDIATE_NONE = 0,
    /// Valid, and presented with the leaf.
    CTTS_INTERMEDIATE_SENT = 1,
    /// Valid, and not presented.
    CTTS_INTERMEDIATE_MISSING = 2,
    /// Presented, but its validity ended a day ago.
    CTTS_INTERMEDIATE_EXPIRED = 3,
} ctts_intermediate_kind;

/// The parameters of an identity.
typedef struct {
    ctts_certificate_kind kind;
    ctts_intermediate_kind intermediate;
    /// Subject alternative names in OpenSSL's form, such as `DNS:a.example,IP:::1`; empty for none, null for the kind's.
    const char *_Nullable names;
    /// The subject's common name; null for the kind's.
    const char *_Nullable common_name;
    /// The CA's common name, in UTF-8; null for the usual.
    const char *_Nullable ca_name;
    /// The only version that is accepted, such as 0x0303 for TLS 1.2; 0 for 1.2 and 1.3.
    int version;
    /// Indicates whether a client without a certificate of the CA is refused.
    bool requires_client_certificate;
} ctts_identity_options;

/// A CA, a leaf certificate that it signed, and the server context that presents the leaf.
typedef struct ctts_identity ctts_identity;

/// The server side of one TLS connection.
typedef struct ctts_connection ctts_connection;

/// Makes EC P-256 keys and the certificates; null when OpenSSL fails. A client's is made for a server that requires
/// one.
ctts_identity *_Nullable ctts_identity_create(const ctts_identity_options *_Nonnull options);

/// Frees the identity; every connection made from it must be gone.
void ctts_identity_free(ctts_identity *_Nonnull identity);

/// The CA certificate as PEM text, ended by a null byte and owned by the identity.
const char *_Nonnull ctts_identity_ca_pem(const ctts_identity *_Nonnull identity);

/// The leaf certificate as PEM text, likewise.
const char *_Nonnull ctts_identity_leaf_pem(const ctts_identity *_Nonnull identity);

/// The private key of the leaf certificate as PEM text, likewise.
const char *_Nonnull ctts_identity_leaf_key_pem(const ctts_identity *_Nonnull identity);

/// A client's certificate as PEM text, likewise; null when none is required.
const char *_Nullable ctts_identity_client_pem(const ctts_identity *_Nonnull identity);

/// The private key of the client's certificate as PEM text, likewise.
const char *_Nullable ctts_identity_client_key_pem(const ctts_identity *_Nonnull identity);

/// Lets connections from now on have a `ctts_hello_digest`.
void ctts_identity_note_hellos(ctts_identity *_Nonnull identity);

/// Performs the handshake on a connected blocking socket; null when it fails.
ctts_connection *_Nullable ctts_accept(ctts_identity *_Nonnull identity, int socket);

/// The name that the client sent as SNI, valid as long as the connection; null when it sent none.
const char *_Nullable ctts_server_name(ctts_connection *_Nonnull connection);

/// The version of TLS, such as `TLSv1.3`; never freed.
const char *_Nonnull ctts_version(ctts_connection *_Nonnull connection);

/// IANA's name of the cipher suite, such as `TLS_AES_256_GCM_SHA384`, never freed; null when OpenSSL does not know it.
const char *_Nullable ctts_cipher_suite(ctts_connection *_Nonnull connection);

/// A digest of what the client's first hello offers: version, cipher suites, and the extensions that OpenSSL knows, in
/// their order, without those that depend on the connection; 0 without `ctts_identity_note_hellos`.
uint64_t ctts_hello_digest(ctts_connection *_Nonnull connection);

/// Returns whether the client has resumed a session.
bool ctts_is_resumed(ctts_connection *_Nonnull connection);

/// Sends the fatal alert bad_record_mac (RFC 8446 section 6.2); no data can be sent after it.
void ctts_send_alert(ctts_connection *_Nonnull connection);

/// Reads up to `capacity` bytes: their count, 0 at the end of the stream, -1 on an error.
long ctts_read(ctts_connection *_Nonnull connection, uint8_t *_Nonnull bytes, size_t capacity);

/// Writes all `count` bytes: 0, or -1 on an error. Never raises SIGPIPE.
int ctts_write(ctts_connection *_Nonnull connection, const uint8_t *_Nonnull bytes, size_t count);

/// The count of decrypted bytes that the next read returns without touching the socket.
size_t ctts_pending(ctts_connection *_Nonnull connection);

/// Sends close_notify; does not wait for the peer's.
void ctts_shutdown(ctts_connection *_Nonnull connection);

/// Frees the connection and leaves the socket open, without sending data.
void ctts_connection_free(ctts_connection *_Nonnull connection);

/// Writes the 20 bytes of a message's SHA-1 (FIPS 180-4).
void ctts_sha1(const uint8_t *_Nonnull bytes, size_t count, uint8_t *_Nonnull digest);

/// Writes the 32 bytes of a message's SHA-256 (FIPS 180-4).
void ctts_sha256(const uint8_t *_Nonnull bytes, size_t count, uint8_t *_Nonnull digest);
