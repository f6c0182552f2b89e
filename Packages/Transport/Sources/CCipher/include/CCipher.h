#pragma once

#include <stddef.h>
#include <stdint.h>

// Authenticated encryption by OpenSSL's libcrypto. The library is loaded at the first call, because most calls of the
// command line need no key, and loading takes a millisecond.

/// The algorithms. Each has keys of 32 bytes, nonces of 12 and tags of 16.
enum ccipher_algorithm { CCIPHER_AES_256_GCM = 1, CCIPHER_CHACHA20_POLY1305 = 2 };

/// Returns 1 if libcrypto could be loaded.
int ccipher_is_available(void);

/// Returns 1 if the processor has instructions for AES.
int ccipher_processor_has_aes(void);

/// Fills bytes with random bytes of the kernel. Returns -1 and sets errno if there are none.
int ccipher_random(void *bytes, size_t count);

/// Writes the 32 bytes of HMAC-SHA-256. Returns 1 if it could be computed.
int ccipher_hmac_sha256(const uint8_t *key, size_t key_count, const uint8_t *bytes, size_t count, uint8_t *code);

/// Makes a cipher, which one thread uses at a time. Returns NULL without memory or without the library.
void *ccipher_new(void);
void ccipher_free(void *cipher);

/// What is encrypted or decrypted.
struct ccipher_text {
    enum ccipher_algorithm algorithm;
    const uint8_t *key, *nonce;
    /// Bytes that the tag covers, too.
    const uint8_t *bound;
    size_t bound_count;
    /// The text before.
    const uint8_t *input;
    /// Room for the text after. It may be the text before.
    uint8_t *output;
    size_t count;
};

/// Encrypts a text and writes its tag. Returns 1 if that was possible.
int ccipher_encrypt(void *cipher, const struct ccipher_text *text, uint8_t *tag);

/// Decrypts a text. Returns 0 if the text or the bound bytes are not those that were encrypted.
int ccipher_decrypt(void *cipher, const struct ccipher_text *text, const uint8_t *tag);
