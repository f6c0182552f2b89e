import Glibc

/// A value that several threads share, protected by a lock.
///
/// The lock is a pthread mutex, which the thread sanitizer understands; for the standard library's `Mutex` it reports
/// false races. A thread can also wait for a change of the value, which `Mutex` does not support.
// Unchecked: the value is used only while the lock is held.
public final class Guarded<Value: Sendable>: @unchecked Sendable {
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    @usableFromInline let change = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // The lock ensures exclusive access.
    @usableFromInline @exclusivity(unchecked) var value: Value
    /// The number of threads that wait for a change.
    @usableFromInline @exclusivity(unchecked) var waiting = 0

    public init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Waits use the monotonic clock, so that a set wall clock does not affect them.
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

    /// Calls `body` with exclusive access to the value.
    @inlinable
    public func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        withLock(when: { _ in true }, body)
    }

    /// Waits until the value satisfies a condition, then calls `body` with exclusive access. Blocks the thread.
    @inlinable
    public func withLock<Result>(when condition: (Value) -> Bool, _ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        while !condition(value) { awaitChange() }
        let result = body(&value)
        let isAwaited = waiting > 0
        pthread_mutex_unlock(mutex)
        // Notify after unlocking, so that waiting threads find the lock free.
        if isAwaited { pthread_cond_broadcast(change) }
        return result
    }

    /// Waits until the value satisfies a condition. Blocks the thread.
    public func wait(until condition: (Value) -> Bool) {
        withLock(when: condition, { _ in })
    }

    /// Waits until the value satisfies a condition, for at most `milliseconds`, then calls `body` in any case. Blocks
    /// the thread.
    public func withLock<Result>(
        when condition: (Value) -> Bool, atMost milliseconds: Int, _ body: (inout Value) -> Result
    ) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        end.tv_sec += milliseconds / 1_000
        end.tv_nsec += milliseconds % 1_000 * 1_000_000
        if end.tv_nsec >= 1_000_000_000 { (end.tv_sec, end.tv_nsec) = (end.tv_sec + 1, end.tv_nsec - 1_000_000_000) }
        waiting += 1
        while !condition(value), pthread_cond_timedwait(change, mutex, &end) == 0 {}
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

extension Guarded where Value: RangeReplaceableCollection {
    /// Takes all elements out.
    /// - Parameter waiting: true to wait for the first element. Blocks the thread.
    public func takeAll(waiting: Bool = false) -> Value {
        let isReady: (Value) -> Bool = { !waiting || !$0.isEmpty }
        return withLock(when: isReady) { elements in
            defer { elements = Value() }
            return elements
        }
    }
}
