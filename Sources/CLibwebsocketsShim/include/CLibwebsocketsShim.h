// A flat C interface over libwebsockets, for one service thread. No type of libwebsockets appears in it.
//
// Every function belongs to the service thread, `clws_service_wake` and `clws_trust_create` excepted, which any thread
// may call. Several services, each on its thread, share nothing but trust anchors.
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

/// The event loop with its libwebsockets context.
typedef struct clws_service clws_service;
/// What the connections of one way to servers share: TLS with its trust anchors and its sessions.
typedef struct clws_route clws_route;
/// Whom connections trust; any routes of any services share it.
typedef struct clws_trust clws_trust;
/// One connection, valid until `CLWS_EVENT_DESTROYED` returns.
typedef struct clws_stream clws_stream;

/// What happened. The comments say what `bytes` and `count` are; otherwise they are NULL and 0.
typedef enum CLWS_CLOSED_ENUM clws_event {
    /// `clws_service_wake` was called, once or more. No stream.
    CLWS_EVENT_WOKEN CLWS_SWIFT_NAME("woken"),
    /// The time that `clws_service_set_timer` has set is over. No stream.
    CLWS_EVENT_TIMER_FIRED CLWS_SWIFT_NAME("timerFired"),
    /// The loop has handled everything that was ready and is about to wait. No stream.
    CLWS_EVENT_ROUND_ENDED CLWS_SWIFT_NAME("roundEnded"),
    /// TCP is established, with the proxy where there is one: call `clws_expect_server` before TLS.
    CLWS_EVENT_TCP_CONNECTED CLWS_SWIFT_NAME("tcpConnected"),
    /// The proxy has sent `count` bytes: call `clws_tunnel_take` with as many of them as are its answer, and
    /// `clws_tunnel_open` when that says that the tunnel stands.
    CLWS_EVENT_TUNNEL_ANSWERED CLWS_SWIFT_NAME("tunnelAnswered"),
    /// The proxy has closed the connection, or it was lost.
    CLWS_EVENT_TUNNEL_ENDED CLWS_SWIFT_NAME("tunnelEnded"),
    /// The request's fields are due: call `clws_write_fields` with `bytes` and `count`.
    CLWS_EVENT_FIELDS_DUE CLWS_SWIFT_NAME("fieldsDue"),
    /// A response's header section is there; `count` is the status code.
    CLWS_EVENT_HEAD_RECEIVED CLWS_SWIFT_NAME("headReceived"),
    /// Bytes can be read: call `clws_read` now, or later to go on.
    CLWS_EVENT_READABLE CLWS_SWIFT_NAME("readable"),
    /// `count` bytes of the body at `bytes`, from within `clws_read`.
    CLWS_EVENT_BYTES_RECEIVED CLWS_SWIFT_NAME("bytesReceived"),
    /// The stream can be written to: call `clws_write` once.
    CLWS_EVENT_WRITABLE CLWS_SWIFT_NAME("writable"),
    /// The body is whole, or the connection ended and libwebsockets knows no better: see `clws_is_cut`.
    CLWS_EVENT_COMPLETED CLWS_SWIFT_NAME("completed"),
    /// The connection ended in another way after its header section; `clws_details_of` may know more.
    CLWS_EVENT_CLOSED CLWS_SWIFT_NAME("closed"),
    /// The connection ended before its header section; `count` is a `clws_failure`, and `clws_details_of` knows more.
    CLWS_EVENT_FAILED CLWS_SWIFT_NAME("failed"),
    /// The last event of a stream, after which its pointer is invalid.
    CLWS_EVENT_DESTROYED CLWS_SWIFT_NAME("destroyed"),
} clws_event;

/// Why a connection failed before its header section, beyond what the events before tell.
typedef enum CLWS_CLOSED_ENUM clws_failure {
    CLWS_FAILURE_OTHER CLWS_SWIFT_NAME("other"),
    /// The header section cannot be parsed.
    CLWS_FAILURE_HEAD_MALFORMED CLWS_SWIFT_NAME("headMalformed"),
    /// The header section is larger than `CLWS_HEADER_SECTION_LIMIT`.
    CLWS_FAILURE_HEAD_TOO_LARGE CLWS_SWIFT_NAME("headTooLarge"),
} clws_failure;

enum {
    /// The largest header section, in bytes of names and values as libwebsockets stores them.
    ///
    /// The largest that every version can hold: 4.2 to 4.5 keep 16 bits of it, and 5.0 refuses more than 32,768.
    CLWS_HEADER_SECTION_LIMIT = 32768,
    /// The most bytes of one `clws_write`.
    CLWS_BUFFER_SIZE = 65536,
    /// The most bytes of one read, and of one `CLWS_EVENT_BYTES_RECEIVED`.
    ///
    /// Most of what a read takes is what the kernel does behind it, however much was read.
    CLWS_READ_SIZE = 491520,
    /// The memory that a read needs: libwebsockets wants some of it for itself.
    CLWS_READ_BYTE_COUNT = CLWS_READ_SIZE + 64,
    /// libwebsockets cuts longer request targets silently.
    CLWS_TARGET_LIMIT = 2000,
    /// libwebsockets cuts longer hosts silently.
    CLWS_HOST_LIMIT = 120,
    /// The descriptors that a service opens, and some for other threads that open theirs at the same time.
    CLWS_SERVICE_DESCRIPTOR_COUNT = 12,
};

/// Receives every event. A return value other than 0 ends the stream.
typedef int (*clws_callback)(void *owner, clws_stream *stream, uintptr_t id, clws_event event, void *bytes,
                             size_t count);

/// Makes the loop and the context; NULL when the system has no resources. Calls back already.
///
/// The caller makes sure of `CLWS_SERVICE_DESCRIPTOR_COUNT` descriptors first: from 4.3.6 on libwebsockets does not
/// survive the lack of one.
clws_service *clws_service_create(clws_callback callback, void *owner);
/// How many descriptors the process might have when the service was made: higher ones cannot be used.
int clws_service_descriptor_limit(clws_service *service);
/// Runs for ever.
void clws_service_run(clws_service *service);
/// Makes the service thread report `CLWS_EVENT_WOKEN`. From any thread.
void clws_service_wake(clws_service *service);
/// Sets the one timer: `CLWS_EVENT_TIMER_FIRED` follows once, so many microseconds from now or 1,000, whichever is more.
void clws_service_set_timer(clws_service *service, int64_t microseconds);
/// Stops the timer.
void clws_service_stop_timer(clws_service *service);
/// Says whether there are connections: while there are, libwebsockets is reminded of its own timers. False at first.
void clws_service_set_active(clws_service *service, bool active);

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
    /// Whether TLS 1.2 is not enough.
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

/// Makes a route, which is never freed; NULL with the fault. Without TLS `tls` is NULL.
clws_route *clws_route_create(clws_service *service, const clws_tls_options *tls, clws_route_fault *fault);

/// Says whom a connection's certificate must name, within `CLWS_EVENT_TCP_CONNECTED`; without it TLS fails.
///
/// `host` is a name or an address without brackets. A name goes out as SNI (RFC 6066 section 3). False when it cannot
/// be a server's, or there is no memory.
bool clws_expect_server(clws_route *route, clws_stream *stream, const char *host, uint16_t port);

enum {
    /// The most bytes of an issuer's name.
    CLWS_ISSUER_LIMIT = 256,
};

/// What is known about a connection that failed; 0 where nothing is.
typedef struct clws_details {
    /// OpenSSL's verdict on the peer's certificates: `X509_V_ERR_…`.
    int certificate_code;
    /// The fatal TLS alert that was sent or received (RFC 8446 section 6); not one that says that the peer has gone.
    int alert;
    /// Whether the chain has no key that is pinned.
    bool is_key_not_pinned;
    /// Who issued the rejected certificate, as it says itself (RFC 4514), NUL-terminated and maybe cut anywhere.
    char issuer[CLWS_ISSUER_LIMIT + 1];
} clws_details;

/// Within `CLWS_EVENT_FAILED` and `CLWS_EVENT_CLOSED`.
clws_details clws_details_of(clws_stream *stream);
/// Whether a connection with TLS broke or ended without a closing alert, within `CLWS_EVENT_COMPLETED`.
bool clws_is_cut(clws_stream *stream);
/// Whether its handshake has resumed a session, within `CLWS_EVENT_FIELDS_DUE` and later.
bool clws_is_resumed(clws_stream *stream);

/// Everything `clws_connect` needs. Strings are copied.
typedef struct clws_target {
    clws_route *route;
    /// Given back with each event; not 0.
    uintptr_t id;
    /// A numeric address.
    const char *address;
    uint16_t port;
    /// The value of `Host`.
    const char *host;
    /// The request target.
    const char *target;
    /// `GET` or `POST`.
    const char *method;
    bool is_secure;
    /// What a proxy at the address is asked before anything else; NULL for a direct connection.
    const uint8_t *tunnel_request;
    /// How many bytes that are; 0 for a direct connection.
    size_t tunnel_request_count;
} clws_target;

enum {
    /// In place of an `errno`: the system makes no sockets at all, for instance in a sandbox.
    CLWS_ERROR_NO_SOCKETS = -1,
};

/// Starts a connection. NULL when it could not be started: no event follows then, and `error` is an `errno`, 0, or
/// `CLWS_ERROR_NO_SOCKETS`.
///
/// Events may come from within the call already. `EMFILE` stands for the tables of libwebsockets as well.
clws_stream *clws_connect(clws_service *service, const clws_target *target, int *error);
/// Whether libwebsockets has opened a socket for the connection; until then it waits for something of its own.
bool clws_has_socket(clws_stream *stream);
/// Within `CLWS_EVENT_FAILED`: the `errno` with which TCP failed, 0 when that is not known.
///
/// It never is under libwebsockets' own loop, where libev is missing.
int clws_connect_error(clws_stream *stream);

/// Takes so many bytes of the proxy's answer, within `CLWS_EVENT_TUNNEL_ANSWERED`.
void clws_tunnel_take(clws_stream *stream, size_t count);
/// Goes on through the tunnel, within `CLWS_EVENT_TUNNEL_ANSWERED`; false when there are no descriptors.
bool clws_tunnel_open(clws_stream *stream);

/// Writes field lines (each ending in CRLF) into the request, within `CLWS_EVENT_FIELDS_DUE`.
///
/// `replaces_connection` removes libwebsockets' own `connection: close`. False when there is no room.
bool clws_write_fields(void *cursor, size_t room, const uint8_t *fields, size_t count, bool replaces_connection);
/// Takes everything behind the request line back, within `CLWS_EVENT_FIELDS_DUE`, so that the line goes out alone.
///
/// How many bytes were copied to `buffer`: whole field lines. -1 when the request does not look as it should.
ptrdiff_t clws_take_back(void *cursor, size_t room, uint8_t *buffer, size_t capacity);

/// Copies a field's value, NUL-terminated; its length, or -1 when it is absent or does not fit.
///
/// `name` is lower case and ends in a colon. Within `CLWS_EVENT_HEAD_RECEIVED`.
int clws_copy_field(clws_stream *stream, const char *name, char *buffer, int capacity);

/// Gives back the memory of the response's head, which is more than all else that libwebsockets has for a WebSocket.
///
/// Only while `CLWS_EVENT_WRITABLE` is handled, because the library uses the head again when `HEAD_RECEIVED` returns;
/// and only when the status code was 101: how the end of a body is reported depends on the head.
void clws_release_head(clws_stream *stream);

/// What a read has given.
typedef struct {
    /// The bytes of the body that were not reported, in the memory that was lent.
    const uint8_t *bytes;
    size_t count;
    /// False when the stream has to end.
    bool is_alive;
} clws_reading;

/// Reads what is there into `memory`, which has `CLWS_READ_BYTE_COUNT` bytes and belongs to the caller again afterwards.
///
/// It reads at most `count` bytes, and `CLWS_READ_SIZE`. Bytes before something else that came are reported at once, and
/// those that lie elsewhere.
clws_reading clws_read(clws_stream *stream, uint8_t *memory, size_t count);
/// Has TCP ask the peer after so many seconds of quiet, and again after so many, and give it up when it has not answered
/// for so many milliseconds, or has not acknowledged for as long what was sent. What a system cannot do is left out.
void clws_watch_peer(clws_stream *stream, int idle_seconds, int probe_seconds, int silence_milliseconds);
/// Asks for `CLWS_EVENT_WRITABLE`.
void clws_request_write(clws_stream *stream);
/// Where the bytes for the next `clws_write` go: `CLWS_BUFFER_SIZE` bytes.
uint8_t *clws_write_buffer(clws_service *service);
/// Writes the first `count` bytes of the write buffer; false when the stream can take no more.
bool clws_write(clws_service *service, clws_stream *stream, size_t count);
/// Whether libwebsockets still holds a part of what was written, which it gives to the socket by itself.
bool clws_is_write_pending(clws_stream *stream);
/// Whether the socket takes no bytes at the moment, or `clws_is_write_pending`.
bool clws_is_choked(clws_stream *stream);
/// Closes the socket at once, whatever was not sent; `CLWS_EVENT_DESTROYED` follows, after this call or within it.
void clws_kill(clws_stream *stream);

/// SHA-1 (RFC 3174), as RFC 6455 section 1.3 wants it; `digest` is 20 bytes.
void clws_sha1(const uint8_t *bytes, size_t count, uint8_t *digest);
/// SHA-256 (FIPS 180-4); `digest` is 32 bytes. False when OpenSSL has none.
bool clws_sha256(const uint8_t *bytes, size_t count, uint8_t *digest);

/// The linked library's own word on its version.
const char *clws_version(void);
/// OpenSSL's.
const char *clws_tls_version(void);

#ifdef __cplusplus
}
#endif
