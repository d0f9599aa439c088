#include "Internal.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

bool clws_hmac_sha256(const uint8_t *key, const uint8_t *bytes, size_t count, uint8_t *digest) {
    unsigned digest_count = 0;
    return HMAC(EVP_sha256(), key, CLWS_SEAL_KEY_COUNT, bytes, count, digest, &digest_count) && digest_count == 32;
}

// One pass of AES-256-GCM in either direction, up to the tag.
static bool run(
    EVP_CIPHER_CTX *context, int seals, const uint8_t *key, const uint8_t *nonce, const uint8_t *beside,
    size_t beside_count, const uint8_t *bytes, size_t count, uint8_t *result) {
    int written = 0;
    return context && beside_count <= INT32_MAX && count <= INT32_MAX &&
           EVP_CipherInit_ex(context, EVP_aes_256_gcm(), NULL, key, nonce, seals) == 1 &&
           EVP_CipherUpdate(context, NULL, &written, beside, (int)beside_count) == 1 &&
           (count == 0 || EVP_CipherUpdate(context, result, &written, bytes, (int)count) == 1);
}

bool clws_seal(
    const uint8_t *key, const uint8_t *nonce, const uint8_t *beside, size_t beside_count, const uint8_t *bytes,
    size_t count, uint8_t *result) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int written = 0;
    bool is_made = run(context, 1, key, nonce, beside, beside_count, bytes, count, result) &&
                   EVP_CipherFinal_ex(context, result + count, &written) == 1 &&
                   EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, CLWS_SEAL_TAG_COUNT, result + count) == 1;
    EVP_CIPHER_CTX_free(context);
    ERR_clear_error();
    return is_made;
}

bool clws_open(
    const uint8_t *key, const uint8_t *nonce, const uint8_t *beside, size_t beside_count, const uint8_t *bytes,
    size_t count, uint8_t *result) {
    if (count < CLWS_SEAL_TAG_COUNT) return false;
    count -= CLWS_SEAL_TAG_COUNT;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int written = 0;
    bool is_made = run(context, 0, key, nonce, beside, beside_count, bytes, count, result) &&
                   EVP_CIPHER_CTX_ctrl(
                       context, EVP_CTRL_GCM_SET_TAG, CLWS_SEAL_TAG_COUNT, (void *)(uintptr_t)(bytes + count)) == 1 &&
                   EVP_CipherFinal_ex(context, result + count, &written) == 1;
    EVP_CIPHER_CTX_free(context);
    ERR_clear_error();
    return is_made;
}
