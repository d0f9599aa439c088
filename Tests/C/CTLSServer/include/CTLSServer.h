// The server's side of TLS over memory, so that tests hold every byte between a client and its server.
//
// A flat C interface over OpenSSL 3. Everything belongs to one thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A certificate, its key, and the sessions that are resumed.
typedef struct cts_server cts_server;
/// One connection.
typedef struct cts_connection cts_connection;

/// Makes a server with a certificate for a DNS name; `version` is the only one spoken, such as 0x0303 for TLS 1.2.
///
/// Without `has_sessions` it gives no tickets away, and every handshake is a whole one.
cts_server *_Nullable cts_server_create(const char *_Nonnull name, int version, bool has_sessions);
/// Frees it; its connections must be gone.
void cts_server_free(cts_server *_Nonnull server);
/// The certificate as PEM text, owned by the server and valid until the next certificate.
const char *_Nonnull cts_server_certificate(const cts_server *_Nonnull server);
/// Replaces certificate and key; sessions are resumed as before.
bool cts_server_change_certificate(cts_server *_Nonnull server, const char *_Nonnull name);

/// Makes a connection.
cts_connection *_Nullable cts_connection_create(cts_server *_Nonnull server);
/// Frees the connection without sending data.
void cts_connection_free(cts_connection *_Nonnull connection);

/// Takes bytes from the client; false when they break a rule, or the client has sent a fatal alert.
bool cts_receive(cts_connection *_Nonnull connection, const uint8_t *_Nonnull bytes, size_t count);
/// Returns whether the handshake is complete.
bool cts_is_open(const cts_connection *_Nonnull connection);
/// Returns the number of plaintext bytes that the client has sent.
size_t cts_received_count(const cts_connection *_Nonnull connection);
/// Returns the last alert of the client, its level in the upper byte; 0 when it has sent none.
int cts_received_alert(const cts_connection *_Nonnull connection);

/// Sends one record of data.
bool cts_send(cts_connection *_Nonnull connection, const uint8_t *_Nonnull bytes, size_t count);
/// Sends close_notify.
void cts_end(cts_connection *_Nonnull connection);
/// Sends the fatal alert bad_record_mac, by OpenSSL's own hand: it is given a damaged record.
void cts_alert(cts_connection *_Nonnull connection);
/// Asks for another handshake (HelloRequest, RFC 5246 section 7.4.1.1).
bool cts_renegotiate(cts_connection *_Nonnull connection);
/// Sends a KeyUpdate that asks for one (RFC 8446 section 4.6.3).
bool cts_update_keys(cts_connection *_Nonnull connection);

/// Takes the bytes for the client: how many were written, at most `capacity`.
size_t cts_take(cts_connection *_Nonnull connection, uint8_t *_Nonnull bytes, size_t capacity);
