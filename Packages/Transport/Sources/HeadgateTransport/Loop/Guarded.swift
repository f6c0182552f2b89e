import Glibc

/// A value that threads share, behind a lock.
///
/// The lock is a plain one of pthreads, which the thread sanitizer understands: it reports races inside of the standard
/// library's `Mutex` that are none. And one can wait for it, which a `Mutex` does not offer.
// Unchecked: the value is touched with the lock held only.
public final class Guarded<Value: Sendable>: @unchecked Sendable {
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    @usableFromInline let change = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // The lock sees to it that one at a time has these.
    @usableFromInline @exclusivity(unchecked) var value: Value
    /// How many threads wait for a change.
    @usableFromInline @exclusivity(unchecked) var waiting = 0

    public init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Waits are for so long, and not until some time of the day.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(change, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(change)
        pthread_mutex_destroy(mutex)
        change.deallocate()
        mutex.deallocate()
    }

    /// Looks at the value, or changes it, while nobody else does.
    @inlinable
    public func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        withLock(when: { _ in true }, body)
    }

    /// The same once the value is as wanted: holds the thread up until then.
    @inlinable
    public func withLock<Result>(when isWanted: (Value) -> Bool, _ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        while !isWanted(value) { awaitChange() }
        let result = body(&value)
        let isAwaited = waiting > 0
        pthread_mutex_unlock(mutex)
        // Whoever wakes up finds the lock free.
        if isAwaited { pthread_cond_broadcast(change) }
        return result
    }

    /// Waits until the value is as wanted: holds the thread up until then.
    public func wait(until isWanted: (Value) -> Bool) {
        withLock(when: isWanted, { _ in })
    }

    /// The same as ``withLock(when:_:)``, for at most so many milliseconds: whether the value is as wanted by then or not.
    public func withLock<Result>(
        when isWanted: (Value) -> Bool, atMost milliseconds: Int, _ body: (inout Value) -> Result
    ) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        end.tv_sec += milliseconds / 1_000
        end.tv_nsec += milliseconds % 1_000 * 1_000_000
        if end.tv_nsec >= 1_000_000_000 { (end.tv_sec, end.tv_nsec) = (end.tv_sec + 1, end.tv_nsec - 1_000_000_000) }
        waiting += 1
        while !isWanted(value), pthread_cond_timedwait(change, mutex, &end) == 0 {}
        waiting -= 1
        return body(&value)
    }

    @usableFromInline
    func awaitChange() {
        waiting += 1
        pthread_cond_wait(change, mutex)
        waiting -= 1
    }
}
