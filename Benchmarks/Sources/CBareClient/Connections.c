// How many connections a thread opens and closes one after another.
#define _GNU_SOURCE
#include "Channel.h"

#include <string.h>

static bool is_no_delta(void *state, uint8_t first_byte, const uint8_t *payload, size_t count) {
    (void)first_byte;
    bool *has_come = state;
    *has_come = memmem(payload, count, "output_text.delta", 17) != NULL;
    return !*has_come;
}

size_t cbc_connections(uint16_t port, size_t count) {
    size_t opened = 0;
    cbc_server server = {.port = port};
    for (size_t index = 0; index < count; index++) {
        channel channel;
        bool has_come = false;
        if (open_channel(&channel, server)) read_pieces(&channel, server, is_no_delta, &has_come, NULL);
        close_channel(&channel);
        opened += has_come;
    }
    return opened;
}
