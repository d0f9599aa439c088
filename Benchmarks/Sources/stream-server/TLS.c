// A certificate that is made at the start, and whose file the clients are given.
#include "Server.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

static X509 *make_certificate(EVP_PKEY *key) {
    X509 *certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_set_pubkey(certificate, key);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)"benchmark", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    static const struct {
        int kind;
        const char *value;
    } extensions[] = {{NID_basic_constraints, "critical,CA:TRUE"}, {NID_subject_alt_name, "IP:127.0.0.1"}};
    for (size_t index = 0; index < sizeof extensions / sizeof *extensions; index++) {
        X509_EXTENSION *extension =
            X509V3_EXT_conf_nid(NULL, NULL, extensions[index].kind, extensions[index].value);
        X509_add_ext(certificate, extension, -1);
        X509_EXTENSION_free(extension);
    }
    X509_sign(certificate, key, EVP_sha256());
    return certificate;
}

SSL_CTX *make_tls_context(const char *certificate_path, bool keeps_buffers) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = make_certificate(key);
    FILE *file = fopen(certificate_path, "w");
    if (!file || !PEM_write_X509(file, certificate)) return NULL;
    fclose(file);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context, certificate);
    SSL_CTX_use_PrivateKey(context, key);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (!keeps_buffers) SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    return context;
}
