// A flat C interface over what carries connections: libwebsockets' loop with one set of sockets in it, sockets, and TLS
// over memory. No type of libwebsockets or OpenSSL appears in it.
//
// Every function belongs to the service thread, `clws_service_wake`, `clws_trust_create` and the digests excepted, which
// any thread may call. Several services, each on its thread, share nothing but trust anchors.
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
    /// `clws_service_wake` was called, once or more.
    CLWS_EVENT_WOKEN CLWS_SWIFT_NAME("woken"),
    /// The time that `clws_service_set_timer` has set is over.
    CLWS_EVENT_TIMER_FIRED CLWS_SWIFT_NAME("timerFired"),
    /// A socket is ready: `token` is its own, and `readiness` a set of `CLWS_READABLE` and `CLWS_WRITABLE`.
    CLWS_EVENT_SOCKET_READY CLWS_SWIFT_NAME("socketReady"),
    /// The loop has handled everything that was ready and is about to wait.
    CLWS_EVENT_ROUND_ENDED CLWS_SWIFT_NAME("roundEnded"),
} clws_event;

enum {
    /// There are bytes, or the end of them, or an error.
    CLWS_READABLE = 1,
    /// Bytes can be written, or a connection attempt has come to its end, or there is an error.
    CLWS_WRITABLE = 2,
};

enum {
    /// The descriptors that a service opens, and some for other threads that open theirs at the same time.
    CLWS_SERVICE_DESCRIPTOR_COUNT = 12,
};

/// Receives every event, on the service thread. `token` and `readiness` are 0 but for a socket's event.
typedef void (*clws_callback)(void *owner, clws_event event, uint64_t token, unsigned readiness);

/// Makes the loop and the context; NULL when the system has no resources.
///
/// The caller makes sure of `CLWS_SERVICE_DESCRIPTOR_COUNT` descriptors first: from 4.3.6 on libwebsockets does not
/// survive the lack of one.
clws_service *clws_service_create(clws_callback callback, void *owner);
/// Runs for ever.
void clws_service_run(clws_service *service);
/// Makes the service thread report `CLWS_EVENT_WOKEN`. From any thread.
void clws_service_wake(clws_service *service);
/// Sets the one timer: `CLWS_EVENT_TIMER_FIRED` follows once, so many microseconds from now. 0 or less stops it.
void clws_service_set_timer(clws_service *service, int64_t microseconds);
/// Changes what a socket is waited for, from one set of `CLWS_READABLE` and `CLWS_WRITABLE` to another; both may be 0.
///
/// `token` is not 0, and comes back with each event. A socket that is waited for has to be taken out, with 0, before it
/// is closed. False when the system has no memory.
bool clws_service_watch(clws_service *service, int descriptor, uint64_t token, unsigned before, unsigned after);

/// The linked libwebsockets' own word on its version.
const char *clws_version(void);

// MARK: Sockets

/// Starts a TCP connection to a numeric address; the descriptor, or a negated `errno`.
///
/// The socket does not block. It is writable when the attempt has come to its end; `clws_socket_error` says to which.
/// `has_socket` says whether the system has made a socket: an error without one is not the address's.
int clws_socket_connect(const char *address, uint16_t port, bool *has_socket);
/// The `errno` with which the socket has failed, once; 0 for none.
int clws_socket_error(int descriptor);
/// Reads what is there; how many bytes, 0 at the end of the stream, or a negated `errno` (`-EAGAIN`: nothing is there).
ptrdiff_t clws_socket_read(int descriptor, void *bytes, size_t count);
/// Writes what fits; how many bytes, or a negated `errno`. A peer that has gone is an error, and never a signal.
ptrdiff_t clws_socket_write(int descriptor, const void *bytes, size_t count);
/// Returns whether bytes would fit now.
bool clws_socket_is_writable(int descriptor);
/// Has TCP ask the peer after so many seconds of quiet, and again after so many, and give it up when it has not answered
/// for so many milliseconds, or has not acknowledged for as long what was sent. What a system cannot do is left out.
void clws_socket_watch_peer(int descriptor, int idle_seconds, int probe_seconds, int silence_milliseconds);
/// Closes the socket at once: with a reset when `is_abrupt`, or when the system could not send everything yet.
void clws_socket_close(int descriptor, bool is_abrupt);

// MARK: TLS

/// An authority for certificates; any routes of any services share it.
typedef struct clws_trust clws_trust;
/// The settings of TLS that connections share, and the sessions that they resume.
typedef struct clws_route clws_route;
/// One TLS connection, without a socket: bytes in, bytes out.
typedef struct clws_tls clws_tls;

/// Reads a PEM file of trust anchors, or with NULL prepares the system's; NULL when there is no certificate in it.
///
/// The file's and no others: a certificate in it is trusted whether it is a root or not. The system's are those that
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` name, where they are set. Never freed. From any thread.
clws_trust *clws_trust_create(const char *file);

/// How connections are secured. Everything but the trust anchors is copied.
typedef struct clws_tls_options {
    const clws_trust *trust;
    /// A PEM file with the client's certificate and those between it and its authority; NULL for none.
    const char *certificate;
    /// A PEM file with the private key of the client's certificate.
    const char *private_key;
    /// SHA-256 digests of keys, one after the other; NULL for none.
    const uint8_t *pinned_keys;
    /// How many digests there are.
    size_t pinned_key_count;
    /// Indicates whether TLS 1.2 is not enough.
    bool requires_tls13;
} clws_tls_options;

/// Why a route cannot be used.
typedef enum CLWS_CLOSED_ENUM clws_route_fault {
    CLWS_ROUTE_FAULT_NONE CLWS_SWIFT_NAME("none"),
    /// The client's certificate or its key cannot be read, or they do not belong together.
    CLWS_ROUTE_FAULT_CERTIFICATE CLWS_SWIFT_NAME("certificate"),
    /// There is no memory.
    CLWS_ROUTE_FAULT_NO_MEMORY CLWS_SWIFT_NAME("noMemory"),
} clws_route_fault;

/// Makes a route; NULL with the fault.
clws_route *clws_route_create(const clws_tls_options *options, clws_route_fault *fault);
/// Frees a route that has no connections.
void clws_route_free(clws_route *route);

enum {
    /// The most bytes of a server's name (RFC 1035 section 2.3.4).
    CLWS_HOST_LIMIT = 255,
    /// The most bytes of an issuer's name.
    CLWS_ISSUER_LIMIT = 256,
    /// The most bytes by which what comes out of one step exceeds what went in: a handshake's messages, or records.
    CLWS_TLS_OVERHEAD = 65536,
};

/// Makes a connection to a server, whose certificate must name it; NULL when it cannot be a server's name, or there is
/// no memory.
///
/// `host` is a name or an address without brackets. A name goes out as SNI (RFC 6066 section 3).
clws_tls *clws_tls_create(clws_route *route, const char *host, uint16_t port);
/// Frees a connection.
void clws_tls_free(clws_tls *tls);

/// How far a connection is.
typedef enum CLWS_CLOSED_ENUM clws_tls_state {
    CLWS_TLS_HANDSHAKING CLWS_SWIFT_NAME("handshaking"),
    /// The handshake is complete.
    CLWS_TLS_OPEN CLWS_SWIFT_NAME("open"),
    /// The peer sends no more (close_notify, RFC 8446 section 6.1).
    CLWS_TLS_ENDED CLWS_SWIFT_NAME("ended"),
    /// A rule was broken, or a fatal alert was received: see `clws_tls_details`.
    CLWS_TLS_FAILED CLWS_SWIFT_NAME("failed"),
} clws_tls_state;

/// The result of one step.
typedef struct clws_tls_step {
    clws_tls_state state;
    /// How many bytes of plaintext were written.
    size_t plaintext_count;
    /// How many bytes of ciphertext were written, to be sent to the peer in every state.
    size_t ciphertext_count;
} clws_tls_step;

/// Begins the handshake.
clws_tls_step clws_tls_start(clws_tls *tls, uint8_t *ciphertext, size_t capacity);
/// Takes ciphertext from the peer, all of it.
///
/// `plaintext` has room for `count` bytes and a record, which is `CLWS_TLS_OVERHEAD` at most; `ciphertext` for that.
clws_tls_step clws_tls_receive(
    clws_tls *tls, const uint8_t *bytes, size_t count, uint8_t *plaintext, size_t plaintext_capacity,
    uint8_t *ciphertext, size_t ciphertext_capacity);
/// Secures plaintext for the peer. `ciphertext` has room for `count` bytes and `CLWS_TLS_OVERHEAD`.
clws_tls_step clws_tls_send(
    clws_tls *tls, const uint8_t *bytes, size_t count, uint8_t *ciphertext, size_t capacity);
/// Tells the peer that nothing more comes, where it can still be told.
clws_tls_step clws_tls_end(clws_tls *tls, uint8_t *ciphertext, size_t capacity);
/// Returns whether the handshake has resumed a session.
bool clws_tls_is_resumed(const clws_tls *tls);

/// The cause of a failure; 0 where it is not known.
typedef struct clws_details {
    /// OpenSSL's verdict on the peer's certificates: `X509_V_ERR_…`.
    int certificate_code;
    /// The fatal TLS alert that was sent or received (RFC 8446 section 6).
    int alert;
    /// Indicates whether the chain has no key that is pinned.
    bool is_key_not_pinned;
    /// The issuer of the rejected certificate, as it says itself (RFC 4514), NUL-terminated and maybe cut anywhere.
    char issuer[CLWS_ISSUER_LIMIT + 1];
} clws_details;

clws_details clws_tls_details(const clws_tls *tls);

/// OpenSSL's version.
const char *clws_tls_version(void);

// MARK: Digests

/// SHA-1 (RFC 3174), as RFC 6455 section 1.3 wants it; `digest` is 20 bytes.
void clws_sha1(const uint8_t *bytes, size_t count, uint8_t *digest);
/// SHA-256 (FIPS 180-4); `digest` is 32 bytes. False when OpenSSL has none.
bool clws_sha256(const uint8_t *bytes, size_t count, uint8_t *digest);

#ifdef __cplusplus
}
#endif
