// A flat C interface to libwebsockets' loop with one set of sockets in it, to sockets, and to TLS over memory. No type
// of libwebsockets or OpenSSL appears in it.
//
// Every function belongs to the service thread, except `clws_service_wake`, `clws_listen`, `clws_trust_create`, the
// digests and the sealing, which any thread may call. Several services, each on its thread, share only trust anchors.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__clang__)
#define CLWS_CLOSED_ENUM __attribute__((enum_extensibility(closed)))
#define CLWS_SWIFT_NAME(name) __attribute__((swift_name(name)))
#else
#define CLWS_CLOSED_ENUM
#define CLWS_SWIFT_NAME(name)
#endif

// MARK: The service

/// The event loop: a libwebsockets context, and the set of sockets that it waits for.
typedef struct clws_service clws_service;

/// An event of the service.
typedef enum CLWS_CLOSED_ENUM clws_event {
    /// `clws_service_wake` was called at least once.
    CLWS_EVENT_WOKEN CLWS_SWIFT_NAME("woken"),
    /// The time set by `clws_service_set_timer` is over.
    CLWS_EVENT_TIMER_FIRED CLWS_SWIFT_NAME("timerFired"),
    /// A socket is ready: `token` is its own, and `readiness` a set of `CLWS_READABLE` and `CLWS_WRITABLE`.
    CLWS_EVENT_SOCKET_READY CLWS_SWIFT_NAME("socketReady"),
    /// The loop has handled everything that was ready and is about to wait.
    CLWS_EVENT_ROUND_ENDED CLWS_SWIFT_NAME("roundEnded"),
} clws_event;

enum {
    /// Bytes, the end of the stream, or an error can be read.
    CLWS_READABLE = 1,
    /// Bytes can be written, or a connection attempt has succeeded or failed, or there is an error.
    CLWS_WRITABLE = 2,
};

enum {
    /// The number of descriptors that a service opens, and some for other threads that open theirs at the same time.
    CLWS_SERVICE_DESCRIPTOR_COUNT = 12,
};

/// Receives every event, on the service thread. `token` and `readiness` are 0 except for a socket's event.
typedef void (*clws_callback)(void *owner, clws_event event, uint64_t token, unsigned readiness);

/// Makes the loop and the context; NULL when the system has no resources.
///
/// The caller ensures that `CLWS_SERVICE_DESCRIPTOR_COUNT` descriptors are available: from 4.3.6 on libwebsockets
/// crashes when it gets none.
clws_service *clws_service_create(clws_callback callback, void *owner);
/// Runs the loop; does not return.
void clws_service_run(clws_service *service);
/// Makes the service thread report `CLWS_EVENT_WOKEN`. From any thread.
void clws_service_wake(clws_service *service);
/// Sets the one timer: `CLWS_EVENT_TIMER_FIRED` follows once, after `microseconds`. 0 or less stops it.
void clws_service_set_timer(clws_service *service, int64_t microseconds);
/// Changes a socket's awaited events, from one set of `CLWS_READABLE` and `CLWS_WRITABLE` to another; both may be 0.
///
/// `token` is not 0, and is passed with each event. A socket in the set has to be removed, with 0, before it is closed.
/// False when the system has no memory.
bool clws_service_watch(clws_service *service, int descriptor, uint64_t token, unsigned before, unsigned after);

/// Returns the linked libwebsockets' version, as the library gives it.
const char *clws_version(void);

// MARK: Sockets

/// Starts a TCP connection to a numeric address; returns the descriptor, or a negated `errno`.
///
/// The socket does not block. It is writable when the attempt has succeeded or failed; `clws_socket_error` returns
/// which. `has_socket` tells whether the system has made a socket: an error without one does not concern the address.
int clws_socket_connect(const char *address, uint16_t port, bool *has_socket);
/// Returns the `errno` with which the socket has failed, once; 0 for none.
int clws_socket_error(int descriptor);
/// Reads the available bytes; returns their number, 0 at the end of the stream, or a negated `errno` (`-EAGAIN`: no
/// bytes are available).
ptrdiff_t clws_socket_read(int descriptor, void *bytes, size_t count);
/// Writes as many bytes as fit; returns their number, or a negated `errno`. A peer that has gone is an error, and never
/// a signal.
ptrdiff_t clws_socket_write(int descriptor, const void *bytes, size_t count);
/// Returns whether bytes would fit now.
bool clws_socket_is_writable(int descriptor);
/// Has TCP probe the peer after `idle_seconds` of quiet, and again every `probe_seconds`, and end the connection when
/// the peer has not answered, or not acknowledged sent bytes, for `silence_milliseconds`. Options that the system lacks
/// are left out.
void clws_socket_watch_peer(int descriptor, int idle_seconds, int probe_seconds, int silence_milliseconds);
/// Closes the socket at once: with a reset when `is_abrupt`, or when the system could not send everything yet.
void clws_socket_close(int descriptor, bool is_abrupt);

// MARK: Listening sockets

enum {
    /// The most bytes of an address in numbers, with its zone.
    CLWS_ADDRESS_LIMIT = 63,
};

/// Listens on a numeric address; returns the descriptor and the port, or a negated `errno`.
///
/// The socket does not block. With port 0 the system chooses one. `::` listens for both families.
int clws_listen(const char *address, uint16_t port, int backlog, uint16_t *chosen_port);
/// Accepts a connection; returns its descriptor, which does not block, or a negated `errno` (`-EAGAIN`: none waits).
///
/// `address` has room for `CLWS_ADDRESS_LIMIT` bytes and a NUL: the peer's address in numbers.
int clws_accept(int listener, char *address);
/// Announces the end of this side's data to the peer, which can still send.
void clws_socket_end_output(int descriptor);
/// Closes the socket, and leaves it to the system to send what it has taken.
void clws_socket_release(int descriptor);

// MARK: TLS

/// The trust anchors of certificates; any TLS contexts of any services share them.
typedef struct clws_trust clws_trust;
/// A TLS context: the settings that connections share, and the sessions that they resume.
typedef struct clws_tls_context clws_tls_context;
/// One TLS connection, without a socket: bytes in, bytes out.
typedef struct clws_tls clws_tls;

/// Reads a PEM file of trust anchors, or with NULL prepares the system's; NULL when it has no certificate.
///
/// With a file, its certificates and no others are trusted, whether they are roots or not. The system's are those that
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` name, where they are set. Never freed. From any thread.
clws_trust *clws_trust_create(const char *file);

/// The settings of a TLS context. Everything but the trust anchors is copied.
typedef struct clws_tls_options {
    const clws_trust *trust;
    /// A PEM file with the client's certificate and its intermediate certificates; NULL for none.
    const char *certificate;
    /// A PEM file with the private key of the client's certificate.
    const char *private_key;
    /// SHA-256 digests of keys, one after the other; NULL for none.
    const uint8_t *pinned_keys;
    /// The number of digests.
    size_t pinned_key_count;
    /// Indicates whether TLS 1.3 is required.
    bool requires_tls13;
} clws_tls_options;

/// The reason for which a TLS context cannot be made.
typedef enum CLWS_CLOSED_ENUM clws_tls_context_fault {
    CLWS_TLS_CONTEXT_FAULT_NONE CLWS_SWIFT_NAME("none"),
    /// The client's certificate or its key cannot be read, or they do not belong together.
    CLWS_TLS_CONTEXT_FAULT_CERTIFICATE CLWS_SWIFT_NAME("certificate"),
    /// There is no memory.
    CLWS_TLS_CONTEXT_FAULT_NO_MEMORY CLWS_SWIFT_NAME("noMemory"),
} clws_tls_context_fault;

/// Makes a TLS context; NULL with the fault.
clws_tls_context *clws_tls_context_create(const clws_tls_options *options, clws_tls_context_fault *fault);
/// Makes a server's TLS context of two PEM files, its certificate with the intermediate ones, and their key; NULL with
/// the fault.
///
/// It speaks TLS 1.2 and 1.3, and `http/1.1` by ALPN (RFC 7301); it demands no certificate of clients.
clws_tls_context *clws_tls_context_create_for_server(
    const char *certificate, const char *private_key, clws_tls_context_fault *fault);
/// Frees a TLS context that has no connections.
void clws_tls_context_free(clws_tls_context *context);

enum {
    /// The most bytes of a server's name (RFC 1035 section 2.3.4).
    CLWS_HOST_LIMIT = 255,
    /// The most bytes of an issuer's name, and of a subject's.
    CLWS_ISSUER_LIMIT = 256,
    /// The most certificates of a chain that are reported.
    CLWS_CERTIFICATE_LIMIT = 8,
    /// The most bytes by which the output of one step exceeds its input: messages of a handshake, or records.
    CLWS_TLS_OVERHEAD = 65536,
};

/// Makes a connection to a server, whose certificate must name it; NULL when it cannot be a server's name, or there is
/// no memory.
///
/// `host` is a name or an address without brackets. A name goes out as SNI (RFC 6066 section 3).
clws_tls *clws_tls_create(clws_tls_context *context, const char *host, uint16_t port);
/// Makes the server's side of a connection, of a server's TLS context; NULL when there is no memory.
///
/// The client begins: `clws_tls_receive` comes first, and not `clws_tls_start`.
clws_tls *clws_tls_create_for_client(clws_tls_context *context);
/// Frees a connection.
void clws_tls_free(clws_tls *tls);

/// The state of a connection.
typedef enum CLWS_CLOSED_ENUM clws_tls_state {
    CLWS_TLS_HANDSHAKING CLWS_SWIFT_NAME("handshaking"),
    /// The handshake is complete.
    CLWS_TLS_OPEN CLWS_SWIFT_NAME("open"),
    /// The peer sends no more data (close_notify, RFC 8446 section 6.1).
    CLWS_TLS_ENDED CLWS_SWIFT_NAME("ended"),
    /// A rule was broken, or a fatal alert was received: see `clws_tls_details`.
    CLWS_TLS_FAILED CLWS_SWIFT_NAME("failed"),
} clws_tls_state;

/// The result of one step.
typedef struct clws_tls_step {
    clws_tls_state state;
    /// The number of bytes of plaintext that were written.
    size_t plaintext_count;
    /// The number of bytes of ciphertext that were written, to be sent to the peer in every state.
    size_t ciphertext_count;
} clws_tls_step;

/// Begins the handshake.
clws_tls_step clws_tls_start(clws_tls *tls, uint8_t *ciphertext, size_t capacity);
/// Takes all of the peer's `count` bytes of ciphertext.
///
/// `plaintext` has room for `count` bytes and a record, which is `CLWS_TLS_OVERHEAD` at most; `ciphertext` for that.
clws_tls_step clws_tls_receive(
    clws_tls *tls, const uint8_t *bytes, size_t count, uint8_t *plaintext, size_t plaintext_capacity,
    uint8_t *ciphertext, size_t ciphertext_capacity);
/// Encrypts plaintext for the peer. `ciphertext` has room for `count` bytes and `CLWS_TLS_OVERHEAD`.
clws_tls_step clws_tls_send(
    clws_tls *tls, const uint8_t *bytes, size_t count, uint8_t *ciphertext, size_t capacity);
/// Announces the end of this side's data to the peer, where that can still be sent.
clws_tls_step clws_tls_end(clws_tls *tls, uint8_t *ciphertext, size_t capacity);
/// Returns whether the handshake has resumed a session.
bool clws_tls_is_resumed(const clws_tls *tls);

/// The cause of a failure; 0 where it is not known.
typedef struct clws_details {
    /// OpenSSL's verdict on the peer's certificates: `X509_V_ERR_…`.
    int certificate_code;
    /// The fatal TLS alert that was sent or received (RFC 8446 section 6).
    int alert;
    /// The place of the rejected certificate in its chain; 0 is the peer's own.
    int certificate_depth;
    /// Indicates whether no key of the chain is a pinned one.
    bool is_key_not_pinned;
    /// Indicates whether the peer has sent the alert.
    bool is_alert_received;
    /// Indicates whether the peer has answered the handshake with an HTTP response, as far as one read shows it.
    bool is_answered_in_http;
    /// Indicates whether the peer's first bytes begin no record of TLS.
    bool is_not_tls;
    /// The issuer of the rejected certificate, as the certificate names it (RFC 4514), NUL-terminated and possibly cut.
    char issuer[CLWS_ISSUER_LIMIT + 1];
} clws_details;

clws_details clws_tls_details(const clws_tls *tls);

enum {
    /// The most bytes of an application protocol's name that are reported.
    CLWS_PROTOCOL_LIMIT = 31,
};

/// The result of a completed handshake. The texts are NUL-terminated, possibly cut, and empty where there is none.
typedef struct clws_session {
    /// The protocol version, such as `TLSv1.3`; static.
    const char *version;
    /// The application protocol that the peer has chosen (RFC 7301).
    char protocol[CLWS_PROTOCOL_LIMIT + 1];
    /// The issuer of the peer's certificate, as the certificate names it (RFC 4514).
    char issuer[CLWS_ISSUER_LIMIT + 1];
} clws_session;

/// Returns the result of the handshake, which is complete.
clws_session clws_tls_session(const clws_tls *tls);

/// A certificate that the peer has sent. The names are as the certificate has them (RFC 4514), NUL-terminated and
/// possibly cut.
typedef struct clws_certificate {
    char subject[CLWS_ISSUER_LIMIT + 1];
    char issuer[CLWS_ISSUER_LIMIT + 1];
    /// The time until the end of its validity, negative after it.
    int64_t seconds_left;
    /// Indicates whether it has an address of its issuer's certificate (RFC 5280 section 4.2.2.1).
    bool locates_issuer;
} clws_certificate;

/// Writes the certificates that the peer has sent, its own first, once they were accepted or rejected; returns their
/// number, at most `capacity`.
size_t clws_tls_certificates(const clws_tls *tls, clws_certificate *certificates, size_t capacity);

/// OpenSSL's version.
const char *clws_tls_version(void);

// MARK: Digests

/// Computes SHA-1 (RFC 3174), for RFC 6455 section 1.3; `digest` is 20 bytes.
void clws_sha1(const uint8_t *bytes, size_t count, uint8_t *digest);
/// Computes SHA-256 (FIPS 180-4); `digest` is 32 bytes. False when OpenSSL has none.
bool clws_sha256(const uint8_t *bytes, size_t count, uint8_t *digest);

// MARK: Sealing

enum {
    CLWS_SEAL_KEY_COUNT = 32,
    CLWS_SEAL_NONCE_COUNT = 12,
    CLWS_SEAL_TAG_COUNT = 16,
};

/// Computes HMAC (RFC 2104) with SHA-256 and a key of `CLWS_SEAL_KEY_COUNT` bytes; `digest` is 32 bytes. False when
/// OpenSSL has none.
bool clws_hmac_sha256(const uint8_t *key, const uint8_t *bytes, size_t count, uint8_t *digest);

/// Encrypts with AES-256-GCM (NIST SP 800-38D), and authenticates `beside`, which is not in the result: `count` bytes and
/// the tag behind them. False when OpenSSL cannot.
bool clws_seal(
    const uint8_t *key, const uint8_t *nonce, const uint8_t *beside, size_t beside_count, const uint8_t *bytes,
    size_t count, uint8_t *result);

/// Decrypts what `clws_seal` has made, which is `count` bytes with the tag; the result is without it. False when a byte of
/// it or of `beside` differs, and the result must not be used then.
bool clws_open(
    const uint8_t *key, const uint8_t *nonce, const uint8_t *beside, size_t beside_count, const uint8_t *bytes,
    size_t count, uint8_t *result);

#ifdef __cplusplus
}
#endif
