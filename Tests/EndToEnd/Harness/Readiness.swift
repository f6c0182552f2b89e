import Foundation
import Synchronization

/// A thread that waits for all sockets of the tests, and resumes tasks when their sockets are readable or writable.
final class Readiness: Sendable {
    static let shared = Readiness()

    private struct Waiter {
        let events: Int16
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Bool, Never>
    }

    private let waiters = Mutex<[Int32: Waiter]>([:])
    /// A pipe that wakes the thread, so that it reads the list of waiters again.
    private let bell: (out: Int32, into: Int32)

    private init() {
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        bell = (ends[0], ends[1])
        Thread.detachNewThread { self.run() }
    }

    /// Waits until the socket is readable or the peer has closed. Returns false if the limit passes. One task at a time
    /// may wait for a socket.
    func untilReadable(_ descriptor: Int32, within limit: Duration) async -> Bool {
        await wait(for: POLLIN, on: descriptor, within: limit)
    }

    /// Waits until the socket is writable.
    func untilWritable(_ descriptor: Int32, within limit: Duration) async -> Bool {
        await wait(for: POLLOUT, on: descriptor, within: limit)
    }

    private func wait(for events: Int32, on descriptor: Int32, within limit: Duration) async -> Bool {
        await withCheckedContinuation { continuation in
            let waiter = Waiter(events: Int16(events), deadline: .now + limit, continuation: continuation)
            waiters.withLock { $0[descriptor] = waiter }
            var byte: UInt8 = 0
            write(bell.into, &byte, 1)
        }
    }

    private func run() {
        var bytes = [UInt8](repeating: 0, count: 256)
        while true {
            var watched = [pollfd(fd: bell.out, events: Int16(POLLIN), revents: 0)]
            waiters.withLock { waiters in
                watched += waiters.map { pollfd(fd: $0.key, events: $0.value.events, revents: 0) }
            }
            poll(&watched, nfds_t(watched.count), 1_000)
            while read(bell.out, &bytes, bytes.count) == bytes.count {}
            for socket in watched.dropFirst() where socket.revents != 0 { end(socket.fd, isReady: true) }
            for descriptor in overdue() { end(descriptor, isReady: false) }
        }
    }

    private func overdue() -> [Int32] {
        waiters.withLock { waiters in waiters.filter { $0.value.deadline < .now }.map(\.key) }
    }

    private func end(_ descriptor: Int32, isReady: Bool) {
        waiters.withLock { $0.removeValue(forKey: descriptor) }?.continuation.resume(returning: isReady)
    }
}
