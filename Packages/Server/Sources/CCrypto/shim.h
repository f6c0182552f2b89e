#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <sys/random.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

/// Returns 1 if the processor has instructions for AES. Swift can call neither of the two ways to ask.
static inline int headgate_processor_has_aes(void) {
#if defined(__x86_64__)
    unsigned int a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c >> 25 & 1);
#elif defined(__aarch64__)
    return getauxval(AT_HWCAP) >> 3 & 1;
#else
    return 0;
#endif
}
