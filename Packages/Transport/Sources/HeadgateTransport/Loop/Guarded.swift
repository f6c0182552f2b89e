import Glibc

/// A value that threads share, behind a lock.
///
/// The lock is a plain one of pthreads, which the thread sanitizer understands: it reports races inside of the standard
/// library's `Mutex` that are none. And one can wait for it, which a `Mutex` does not offer.
// Unchecked: the value is touched with the lock held only.
public final class Guarded<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let change = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value
    /// How many threads wait for a change.
    private var waiting = 0

    public init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(change, nil)
    }

    deinit {
        pthread_cond_destroy(change)
        pthread_mutex_destroy(mutex)
        change.deallocate()
        mutex.deallocate()
    }

    /// Looks at the value, or changes it, while nobody else does.
    public func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        withLock(when: { _ in true }, body)
    }

    /// The same once the value is as wanted: holds the thread up until then.
    public func withLock<Result>(when isWanted: (Value) -> Bool, _ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isWanted(value) { awaitChange() }
        let result = body(&value)
        if waiting > 0 { pthread_cond_broadcast(change) }
        return result
    }

    private func awaitChange() {
        waiting += 1
        pthread_cond_wait(change, mutex)
        waiting -= 1
    }
}
