import Glibc

/// What one thread takes out, all at once, others put in.
///
/// `@unchecked`: the elements are only touched while the mutex is held. (`Synchronization` has no condition variable.)
final class Mailbox<Element: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var elements: [Element] = []

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Puts elements in, in order.
    /// - Returns: whether there were none before.
    @discardableResult
    func put(_ new: [Element]) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        let wasEmpty = elements.isEmpty
        elements += new
        pthread_cond_signal(condition)
        return wasEmpty
    }

    /// Takes all out, waiting for the first if asked to.
    func takeAll(waiting: Bool) -> [Element] {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while waiting, elements.isEmpty {
            pthread_cond_wait(condition, mutex)
        }
        let taken = elements
        elements = []
        return taken
    }
}
