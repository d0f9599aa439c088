// TLS sessions for resumption (RFC 8446 section 2.2, RFC 5077), a few for each server.
//
// They belong to a TLS context, so that none is used under another policy: a resumed handshake has no certificates, and
// the requirements on them were checked when the session was established.
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

// Makes room for a session with the server: replaces the server's own oldest one, or else the oldest of all.
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

// Returns the time at which a session was made, in seconds since 1970.
static time_t time_of(const SSL_SESSION *session) {
#if OPENSSL_VERSION_NUMBER >= 0x30300000L
    return SSL_SESSION_get_time_ex(session); // 3.6 deprecates the other, which ends in 2038 where `long` has 32 bits
#else
    return SSL_SESSION_get_time(session);
#endif
}

// Returns whether the server still accepts the session, and its certificate is still valid.
static bool is_usable(const SSL_SESSION *session) {
    time_t now = time(NULL);
    if (!SSL_SESSION_is_resumable(session)) return false;
    if (time_of(session) + SSL_SESSION_get_timeout(session) <= now) return false;
    X509 *certificate = SSL_SESSION_get0_peer((SSL_SESSION *)session); // it is not changed
    return certificate && X509_cmp_time(X509_get0_notAfter(certificate), &now) > 0;
}

void clws_sessions_put(clws_sessions *sessions, const clws_server *server, const SSL_SESSION *session) {
    if (!SSL_SESSION_is_resumable(session)) return;
    // A connection that is freed without a closing alert makes its own session unusable, so the kept one is a copy.
    SSL_SESSION *copy = SSL_SESSION_dup((SSL_SESSION *)session); // it is not changed
    if (!copy) return;
    make_room(sessions, server);
    sessions->entries[sessions->count].server = *server;
    sessions->entries[sessions->count].session = copy;
    sessions->count++;
}

// RFC 8446 appendix C.4: a ticket that is used twice lets observers link the two connections to one client.
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
