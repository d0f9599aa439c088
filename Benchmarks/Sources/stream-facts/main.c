// usage: stream-facts N...
//
// Prints a line of JSON for each N: the sizes and checksums that a client must find in a response of N deltas of
// stream-server. A response of more than a block consists of whole blocks, as in the server.
#include "CStreamScript.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct {
    unsigned long long bytes;
    unsigned long long characters;
    unsigned long checksum;
} account;

static void add(account *account, const void *text, size_t count) {
    const unsigned char *bytes = text;
    account->bytes += count;
    // All characters are of the basic plane: as many code points as UTF-16 units.
    for (size_t index = 0; index < count; index++) account->characters += (bytes[index] & 0xC0) != 0x80;
    account->checksum = crc32(account->checksum, bytes, (uInt)count);
}

// Adds a message to the account of a WebSocket's payloads and to that of an event stream's body.
static void add_message(account *payload, account *body, const char *type, const void *message, size_t count) {
    uint8_t event[1024];
    add(payload, message, count);
    add(body, event, css_stream_event(event, type, message, count));
}

static void print_account(const char *name, account account) {
    printf(", \"%sByteCount\": %llu, \"%sCharacterCount\": %llu, \"%sChecksum\": %lu", name, account.bytes, name,
           account.characters, name, account.checksum);
}

static void print_facts(unsigned long long count) {
    account text = {0}, payload = {0}, body = {0};
    add_message(&payload, &body, css_created_type(), css_created(), strlen(css_created()));
    for (unsigned long long number = 0; number < count; number++) {
        char delta[CSS_TEXT_CAPACITY];
        unsigned char message[CSS_MESSAGE_SIZE];
        add(&text, delta, css_text(number, delta));
        css_message(number, message);
        add_message(&payload, &body, css_delta_type(), message, sizeof message);
    }
    add_message(&payload, &body, css_completed_type(), css_completed(), strlen(css_completed()));
    printf("{\"deltaCount\": %llu", count);
    print_account("text", text);
    print_account("payload", payload);
    print_account("body", body);
    puts("}");
}

int main(int count, char **arguments) {
    for (int index = 1; index < count; index++) {
        unsigned long long number = strtoull(arguments[index], NULL, 10);
        bool is_whole = number <= CSS_BLOCK_COUNT || number % CSS_BLOCK_COUNT == 0;
        if (number == 0 || !is_whole) {
            fprintf(stderr, "stream-facts: %s deltas are no response\n", arguments[index]);
            return 2;
        }
        print_facts(number);
    }
    return 0;
}
