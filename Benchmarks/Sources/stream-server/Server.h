// A server that is never the bottleneck: it makes the responses before a client connects.
//
// One thread, one loop. It answers an upgrade to a WebSocket, and any other request with an event stream, whose events
// are those of the Responses API or, in a flood, of Chat Completions where the path ends with its name. It serves the
// benchmarks' clients on this machine, and does not validate their input.
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    MODE_FLOOD, // the whole response as fast as the client reads
    MODE_IDLE,  // the beginning of a response alone
    MODE_PACE,  // a message at a time, with the moment in its text
    MODE_TURNS, // a message at a time of all responses, when standard input asks for it
    MODE_DROP,  // none: messages are counted and dropped
} mode;

typedef struct {
    mode mode;
    uint64_t message_count;
    uint64_t pause_after; // the number of messages before the pause; 0: no pause
    uint64_t permitted;   // the number of pauses that were ended
    double rate; // messages a second on each connection
    bool jitters; // whether an interval has half to one and a half of its length
    uint64_t held_count; // the number of responses that must be requested before the first begins
    bool uses_tls;
    bool deflates;  // messages, for WebSocket clients that offer permessage-deflate
    bool gzips;     // event streams, for clients that accept it
    int core;       // -1: any
    const char *certificate_path;
} options;

// The form of a response on the wire.
typedef enum {
    FORM_WEBSOCKET,
    FORM_WEBSOCKET_DEFLATE,
    FORM_EVENT_STREAM,
    FORM_EVENT_STREAM_GZIP,
    FORM_CHAT, // an event stream of Chat Completions
    FORM_COUNT,
} form;

// Bytes that all connections send.
typedef struct {
    uint8_t *bytes;
    size_t count;
    size_t pause; // the number of bytes before the pause
} block;

// A response, as frames or as chunks of a body.
typedef struct {
    block start;    // the event that begins it
    block messages; // the messages of a block
    block first;    // the first message alone
    block end;      // the event that ends it, and the end of a body
} script;

typedef enum {
    STATE_TLS,     // in the handshake
    STATE_HEAD,    // waits for the head of a request
    STATE_BODY,    // takes the body of a request
    STATE_REQUEST, // waits for the message that asks for a response
    STATE_STREAM,  // sends a response
    STATE_CLOSING, // has shut down its side, and waits for the client
} state;

// The messages that a client has sent to be dropped.
typedef struct {
    uint8_t header[14]; // the header of a frame (RFC 6455 section 5.2), as far as it has come
    size_t header_count;
    uint8_t key[4];
    uint64_t remaining, position; // bytes of the payload that are to come, and that have come
    bool is_text, is_wrong;
    uint64_t message_count, wrong_count; // since the last answer
} dropped;

enum { SMALL_SIZE = 1024, CONTROL_SIZE = 256, FORM_OVERHEAD = 80 };

typedef struct connection {
    int descriptor;
    SSL *tls;
    state state;
    form form;
    bool wants_write;
    bool keeps_alive;       // after an event stream
    bool is_listed;         // is in the list of those that standard input lets write
    bool has_begun;         // its response
    bool has_ended;
    bool says_goodbye;      // closes after the output that is left
    bool message_is_whole;  // the frame being received is the last of its message
    uint64_t frame_remaining; // bytes of that frame
    uint64_t requested;     // responses requested while one was being sent
    uint64_t sent_count;    // messages of the response that were passed to `output`
    uint64_t body_remaining; // bytes of the body of a request, which are discarded
    uint8_t *input;
    size_t input_count, input_capacity;
    // The bytes being written, and the bytes to write after control frames that interrupt them.
    const uint8_t *output, *rest;
    size_t output_count, rest_count;
    uint8_t small[SMALL_SIZE]; // bytes of this connection alone
    uint8_t control[CONTROL_SIZE]; // control frames that wait for the end of a frame
    size_t control_count;
    dropped dropped;
    double next_due, wakes; // with a pace: the moments of its next message, and of its turn
    size_t place;           // in the heap of those that are paced, from 1; 0: none
    struct connection *next;
} connection;

// Script.c: the responses.
void make_scripts(const options *options, script scripts[FORM_COUNT]);
size_t write_frame(uint8_t *target, uint8_t first_byte, const void *payload, size_t count);
size_t write_delta(form form, uint8_t *target, const uint8_t *message);

// Compression.c: the same, compressed.
script make_deflated(const options *options);
script make_gzipped(const options *options);

// Request.c: the heads and bodies of requests.
const char *field_value(const char *head, const char *name, size_t *count);
void take_head(connection *connection, const options *options);
bool take_body(connection *connection);

// WebSocket.c: the opening handshake and the frames of a client.
void answer_upgrade(connection *connection, const char *head, const options *options);
bool take_frames(connection *connection, const script *script);

// Dropped.c: reads all that has arrived; false when the client is gone, or sends other frames than whole messages.
bool drop_messages(connection *connection);

// Connection.c: one connection, from its bytes to its bytes.
void say(connection *connection, const void *bytes, size_t count);
void consume_input(connection *connection, size_t count);
bool receive(connection *connection, const options *options, const script scripts[FORM_COUNT]);
bool flush(connection *connection, const options *options, const script scripts[FORM_COUNT]);

// Pace.c: the connections whose messages are due at moments, in the order of these.
int pace_start(void); // returns the descriptor of the timer
void pace_clear(void); // takes the timer's expiration
bool pace_add(connection *added, const options *options); // whether its response begins already
void pace_remove(connection *removed);
connection *pace_due(double now); // NULL when none is due
void pace_go_on(connection *paced, const options *options); // to its next message
void pace_wait(connection *paced, double now);              // for its client
void pace_arm(void);

// main.c
extern int poller;
uint64_t moment(void);

// TLS.c: a context with a certificate of its own. `keeps_buffers`: idle connections keep their buffers too.
SSL_CTX *make_tls_context(const char *certificate_path, bool keeps_buffers);
