// A WebSocket server that is never the bottleneck: what it sends was made before anybody connected.
//
// One thread, one loop, no checks: it is for the benchmarks' clients and for nobody else.
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    MODE_FLOOD, // the whole response as fast as the client reads
    MODE_IDLE,  // the beginning of a response, and then nothing
    MODE_PACE,  // a message at a time, with the moment in its text
} mode;

typedef struct {
    mode mode;
    uint64_t message_count;
    double rate; // messages a second on each connection
    bool uses_tls;
    bool compresses;
    int core; // -1: any
    const char *certificate_path;
} options;

// Bytes that all connections send.
typedef struct {
    uint8_t *bytes;
    size_t count;
} block;

typedef struct {
    block start;    // the event that begins a response
    block messages; // the messages of a block, as frames
    block first;    // the first message alone
    block end;      // the event that ends it
} script;

typedef enum { STATE_TLS, STATE_HEAD, STATE_REQUEST, STATE_STREAM } state;

typedef struct connection {
    int descriptor;
    SSL *tls;
    state state;
    bool wants_write;
    uint8_t input[2048];
    size_t input_count;
    // What is being written.
    const uint8_t *output;
    size_t output_count;
    uint64_t sent_count; // messages, as far as they were given to `output`
    bool has_begun;
    bool has_ended;
    uint8_t small[768]; // what was made for this connection alone
    size_t small_count;
    double next_due; // with a pace
    struct connection *next;
} connection;

// Script.c
script make_script(const options *options);
size_t write_frame(uint8_t *target, uint8_t first_byte, const void *payload, size_t count);

// Handshake.c
bool answer_upgrade(connection *connection, const options *options);
bool take_frames(connection *connection);

// TLS.c
SSL_CTX *make_tls_context(const char *certificate_path);
