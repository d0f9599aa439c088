// The check of the peer's certificates: their chain, and the pinned keys.
#include "Internal.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

// Returns a name as a certificate has it (RFC 4514, beyond ASCII unescaped); the caller frees the text.
static char *text_of(const X509_NAME *name) {
    BIO *text = BIO_new(BIO_s_mem());
    if (!text) return NULL;
    X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
    char *bytes = NULL;
    long count = BIO_get_mem_data(text, &bytes);
    char *made = count > 0 ? strndup(bytes, count > CLWS_ISSUER_LIMIT ? CLWS_ISSUER_LIMIT : (size_t)count) : NULL;
    BIO_free(text);
    return made;
}

// Copies a name into memory that is zeroed, and has room for it.
static void copy_name(char *target, const X509_NAME *name) {
    char *text = text_of(name);
    if (text) memcpy(target, text, strlen(text));
    free(text);
}

static char *issuer_of(X509 *certificate) {
    return certificate ? text_of(X509_get_issuer_name(certificate)) : NULL;
}

clws_session clws_tls_session(const clws_tls *tls) {
    clws_session session = {.version = SSL_get_version(tls->ssl)};
    const unsigned char *protocol = NULL;
    unsigned count = 0;
    SSL_get0_alpn_selected(tls->ssl, &protocol, &count);
    if (protocol) memcpy(session.protocol, protocol, count > CLWS_PROTOCOL_LIMIT ? CLWS_PROTOCOL_LIMIT : count);
    X509 *certificate = SSL_get1_peer_certificate(tls->ssl);
    if (certificate) copy_name(session.issuer, X509_get_issuer_name(certificate));
    X509_free(certificate);
    return session;
}

static bool locates_issuer(X509 *certificate) {
    AUTHORITY_INFO_ACCESS *entries = X509_get_ext_d2i(certificate, NID_info_access, NULL, NULL);
    bool is_found = false;
    for (int i = 0; i < sk_ACCESS_DESCRIPTION_num(entries) && !is_found; i++)
        is_found = OBJ_obj2nid(sk_ACCESS_DESCRIPTION_value(entries, i)->method) == NID_ad_ca_issuers;
    AUTHORITY_INFO_ACCESS_free(entries);
    return is_found;
}

static clws_certificate description_of(X509 *certificate) {
    clws_certificate made = {.locates_issuer = locates_issuer(certificate)};
    copy_name(made.subject, X509_get_subject_name(certificate));
    copy_name(made.issuer, X509_get_issuer_name(certificate));
    int days = 0, seconds = 0;
    if (ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(certificate)) == 1)
        made.seconds_left = (int64_t)days * 24 * 60 * 60 + seconds;
    return made;
}

size_t clws_tls_certificates(const clws_tls *tls, clws_certificate *certificates, size_t capacity) {
    // A resumed session has those of its first handshake.
    STACK_OF(X509) *sent = tls->rejected ? tls->rejected : SSL_get_peer_cert_chain(tls->ssl);
    size_t count = 0;
    for (int i = 0; i < sk_X509_num(sent) && count < capacity; i++)
        certificates[count++] = description_of(sk_X509_value(sent, i));
    ERR_clear_error();
    return count;
}

bool clws_sha256(const uint8_t *bytes, size_t count, uint8_t *digest) {
    return EVP_Digest(bytes, count, digest, NULL, EVP_sha256(), NULL) == 1;
}

// SHA-256 of SubjectPublicKeyInfo (RFC 7469 section 2.4).
static bool digest_key(X509 *certificate, uint8_t *digest) {
    uint8_t *key = NULL;
    int count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
    bool is_made = count > 0 && clws_sha256(key, (size_t)count, digest);
    OPENSSL_free(key);
    return is_made;
}

static bool has_pinned_key(const clws_tls_context *context, X509_STORE_CTX *chain) {
    STACK_OF(X509) *certificates = X509_STORE_CTX_get0_chain(chain);
    for (int i = 0; i < sk_X509_num(certificates); i++) {
        uint8_t digest[CLWS_DIGEST_LENGTH];
        if (!digest_key(sk_X509_value(certificates, i), digest)) continue;
        for (size_t pin = 0; pin < context->pinned_key_count; pin++)
            if (memcmp(context->pinned_keys + pin * CLWS_DIGEST_LENGTH, digest, CLWS_DIGEST_LENGTH) == 0) return true;
    }
    return false;
}

int clws_verify(X509_STORE_CTX *chain, void *argument) {
    const clws_tls_context *context = argument;
    clws_tls *tls = clws_tls_of(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    if (X509_verify_cert(chain) != 1) {
        int code = X509_STORE_CTX_get_error(chain);
        tls->certificate_code = code == X509_V_OK ? X509_V_ERR_UNSPECIFIED : code;
        tls->certificate_depth = X509_STORE_CTX_get_error_depth(chain);
        if (!tls->issuer) tls->issuer = issuer_of(X509_STORE_CTX_get_current_cert(chain));
        if (!tls->rejected) tls->rejected = X509_chain_up_ref(X509_STORE_CTX_get0_untrusted(chain));
        return 0;
    }
    if (!context->pinned_key_count || has_pinned_key(context, chain)) return 1;
    tls->is_key_not_pinned = true;
    X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}
