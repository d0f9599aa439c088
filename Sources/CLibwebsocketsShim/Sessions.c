// Sessions that later connections resume (RFC 8446 section 2.2, RFC 5077), a few for each server.
//
// They belong to a route, so that none gets from one policy to another: a resumed handshake has no certificates, and
// what was demanded of them was demanded when the session was made.
#include "Internal.h"

#include <openssl/x509.h>
#include <string.h>
#include <time.h>

static void remove_at(clws_sessions *sessions, size_t index) {
    SSL_SESSION_free(sessions->entries[index].session);
    sessions->count--;
    memmove(
        sessions->entries + index, sessions->entries + index + 1,
        (sessions->count - index) * sizeof sessions->entries[0]);
}

// Makes room for a session with the server: its own oldest goes first, and else the oldest of all.
static void make_room(clws_sessions *sessions, const clws_server *server) {
    size_t count = 0, oldest = 0;
    for (size_t i = sessions->count; i-- > 0;) {
        if (!clws_server_equals(&sessions->entries[i].server, server)) continue;
        count++;
        oldest = i;
    }
    if (count >= CLWS_SESSION_LIMIT_OF_SERVER)
        remove_at(sessions, oldest);
    else if (sessions->count >= CLWS_SESSION_LIMIT)
        remove_at(sessions, 0);
}

// When a session was made, in seconds since 1970.
static time_t time_of(const SSL_SESSION *session) {
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
    return SSL_SESSION_get_time_ex(session); // 3.6 deprecates the other, which ends in 2038 where `long` has 32 bits
#else
    return SSL_SESSION_get_time(session);
#endif
}

// Returns whether the server would know the session, and its certificate is still good.
static bool is_usable(const SSL_SESSION *session) {
    time_t now = time(NULL);
    if (!SSL_SESSION_is_resumable(session)) return false;
    if (time_of(session) + SSL_SESSION_get_timeout(session) <= now) return false;
    X509 *certificate = SSL_SESSION_get0_peer((SSL_SESSION *)session); // it is not changed
    return certificate && X509_cmp_time(X509_get0_notAfter(certificate), &now) > 0;
}

void clws_sessions_put(clws_sessions *sessions, const clws_server *server, const SSL_SESSION *session) {
    if (!SSL_SESSION_is_resumable(session)) return;
    // Freed without a closing alert, a connection makes its own session unusable, so it never has the one that is kept.
    SSL_SESSION *copy = SSL_SESSION_dup((SSL_SESSION *)session); // it is not changed
    if (!copy) return;
    make_room(sessions, server);
    sessions->entries[sessions->count].server = *server;
    sessions->entries[sessions->count].session = copy;
    sessions->count++;
}

// RFC 8446 appendix C.4: a ticket that is used twice lets others see that both come from one client.
static SSL_SESSION *use(clws_sessions *sessions, size_t index) {
    SSL_SESSION *session = sessions->entries[index].session;
    if (SSL_SESSION_get_protocol_version(session) < TLS1_3_VERSION) return SSL_SESSION_dup(session);
    SSL_SESSION_up_ref(session);
    remove_at(sessions, index);
    return session;
}

SSL_SESSION *clws_sessions_take(clws_sessions *sessions, const clws_server *server) {
    for (size_t i = sessions->count; i-- > 0;) {
        if (!clws_server_equals(&sessions->entries[i].server, server)) continue;
        if (is_usable(sessions->entries[i].session)) return use(sessions, i);
        remove_at(sessions, i);
    }
    return NULL;
}

void clws_sessions_free(clws_sessions *sessions) {
    while (sessions->count) remove_at(sessions, sessions->count - 1);
}
