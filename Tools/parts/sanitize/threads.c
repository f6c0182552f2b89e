/* Linked into programs that run under the thread sanitizer. librdkafka uses the C11 functions for threads and locks, which the
 * sanitizer does not know: it stops at an unknown thread, and reports races on data guarded by such a lock. These functions
 * call the POSIX ones instead, which the sanitizer knows and which are equivalent in glibc. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

struct beginning {
    thrd_start_t function;
    void *argument;
};

static void *begin(void *given) {
    struct beginning beginning = *(struct beginning *)given;
    free(given);
    return (void *)(intptr_t)beginning.function(beginning.argument);
}

static int answer(int code) {
    return code == 0 ? thrd_success : thrd_error;
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
    struct beginning *beginning = malloc(sizeof *beginning);
    if (!beginning) return thrd_nomem;
    *beginning = (struct beginning){function, argument};
    int code = pthread_create(thread, NULL, begin, beginning);
    if (code != 0) free(beginning);
    return answer(code);
}

int thrd_join(thrd_t thread, int *result) {
    void *value;
    int code = pthread_join(thread, &value);
    if (code == 0 && result) *result = (int)(intptr_t)value;
    return answer(code);
}

int mtx_init(mtx_t *lock, int kind) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (kind & mtx_recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    int code = pthread_mutex_init((pthread_mutex_t *)lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return answer(code);
}

void mtx_destroy(mtx_t *lock) {
    pthread_mutex_destroy((pthread_mutex_t *)lock);
}

int mtx_lock(mtx_t *lock) {
    return answer(pthread_mutex_lock((pthread_mutex_t *)lock));
}

int mtx_unlock(mtx_t *lock) {
    return answer(pthread_mutex_unlock((pthread_mutex_t *)lock));
}

int cnd_init(cnd_t *condition) {
    return answer(pthread_cond_init((pthread_cond_t *)condition, NULL));
}

void cnd_destroy(cnd_t *condition) {
    pthread_cond_destroy((pthread_cond_t *)condition);
}

int cnd_signal(cnd_t *condition) {
    return answer(pthread_cond_signal((pthread_cond_t *)condition));
}

int cnd_broadcast(cnd_t *condition) {
    return answer(pthread_cond_broadcast((pthread_cond_t *)condition));
}

int cnd_wait(cnd_t *condition, mtx_t *lock) {
    return answer(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)lock));
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict lock, const struct timespec *restrict until) {
    int code = pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)lock, until);
    return code == ETIMEDOUT ? thrd_timedout : answer(code);
}
