#include "CCipher.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/opensslv.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

// The functions of the library, by their names in its headers.
#define FUNCTIONS(use) \
    use(EVP_CIPHER_CTX_new) use(EVP_CIPHER_CTX_free) use(EVP_CIPHER_CTX_ctrl) use(EVP_aes_256_gcm) \
    use(EVP_chacha20_poly1305) use(EVP_EncryptInit_ex) use(EVP_EncryptUpdate) use(EVP_EncryptFinal_ex) \
    use(EVP_DecryptInit_ex) use(EVP_DecryptUpdate) use(EVP_DecryptFinal_ex) use(EVP_sha256) use(HMAC) \
    use(OPENSSL_init_crypto)

#define DECLARE(name) __typeof__(&name) name##_;
static struct { FUNCTIONS(DECLARE) } library;
static int is_loaded;

static void load(void) {
    void *handle = dlopen("libcrypto.so." TEXT(OPENSSL_SHLIB_VERSION), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    is_loaded = 1;
#define FIND(name) \
    *(void **)&library.name##_ = dlsym(handle, #name); \
    if (!library.name##_) is_loaded = 0;
    FUNCTIONS(FIND)
    // Otherwise an exit would free what another thread still uses.
    if (is_loaded) (void)library.OPENSSL_init_crypto_(OPENSSL_INIT_NO_ATEXIT, NULL);
}

int ccipher_is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return is_loaded;
}

int ccipher_processor_has_aes(void) {
#if defined(__x86_64__)
    unsigned int a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c >> 25 & 1);
#elif defined(__aarch64__)
    return getauxval(AT_HWCAP) >> 3 & 1;
#else
    return 0;
#endif
}

int ccipher_random(void *bytes, size_t count) {
    for (size_t filled = 0; filled < count;) {
        ssize_t found = getrandom((char *)bytes + filled, count - filled, 0);
        if (found < 0 && errno != EINTR) return -1;
        filled += found < 0 ? 0 : (size_t)found;
    }
    return 0;
}

int ccipher_hmac_sha256(const uint8_t *key, size_t key_count, const uint8_t *bytes, size_t count, uint8_t *code) {
    if (!ccipher_is_available() || key_count > INT_MAX) return 0;
    // OpenSSL takes a null key for "the key of the last call", so that an empty one needs an address.
    return library.HMAC_(library.EVP_sha256_(), key_count ? (const void *)key : "", (int)key_count, bytes, count, code,
                         NULL) != NULL;
}

void *ccipher_new(void) {
    return ccipher_is_available() ? library.EVP_CIPHER_CTX_new_() : NULL;
}

void ccipher_free(void *cipher) {
    library.EVP_CIPHER_CTX_free_(cipher);
}

static const EVP_CIPHER *kind(enum ccipher_algorithm algorithm) {
    return algorithm == CCIPHER_AES_256_GCM ? library.EVP_aes_256_gcm_() : library.EVP_chacha20_poly1305_();
}

static const int tag_size = 16;

int ccipher_encrypt(void *cipher, const struct ccipher_text *text, uint8_t *tag) {
    int count = 0;
    if (text->count > INT_MAX || text->bound_count > INT_MAX) return 0;
    return library.EVP_EncryptInit_ex_(cipher, kind(text->algorithm), NULL, text->key, text->nonce) == 1 &&
           library.EVP_EncryptUpdate_(cipher, NULL, &count, text->bound, (int)text->bound_count) == 1 &&
           library.EVP_EncryptUpdate_(cipher, text->output, &count, text->input, (int)text->count) == 1 &&
           library.EVP_EncryptFinal_ex_(cipher, tag, &count) == 1 &&
           library.EVP_CIPHER_CTX_ctrl_(cipher, EVP_CTRL_AEAD_GET_TAG, tag_size, tag) == 1;
}

int ccipher_decrypt(void *cipher, const struct ccipher_text *text, const uint8_t *tag) {
    int count = 0;
    uint8_t last, copy[16];
    if (text->count > INT_MAX || text->bound_count > INT_MAX) return 0;
    memcpy(copy, tag, sizeof copy);
    return library.EVP_DecryptInit_ex_(cipher, kind(text->algorithm), NULL, text->key, text->nonce) == 1 &&
           library.EVP_DecryptUpdate_(cipher, NULL, &count, text->bound, (int)text->bound_count) == 1 &&
           library.EVP_DecryptUpdate_(cipher, text->output, &count, text->input, (int)text->count) == 1 &&
           library.EVP_CIPHER_CTX_ctrl_(cipher, EVP_CTRL_AEAD_SET_TAG, (int)sizeof copy, copy) == 1 &&
           library.EVP_DecryptFinal_ex_(cipher, &last, &count) == 1;
}
