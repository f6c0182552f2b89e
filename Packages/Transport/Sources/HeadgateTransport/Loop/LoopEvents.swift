import CUV
import Glibc

/// A timer that fires once each time it is armed. It lives on the loop's thread, and dies with its owner.
///
/// libuv fires timers before it reads sockets. After the process stood still (SIGSTOP, a migrated virtual machine, swap) what arrived
/// meanwhile would count as missing. So a timer that is late by more than ``lateness`` waits for the end of the next turn, in which
/// all that is readable has been read (Behaviour P7).
public final class LoopTimer {
    /// When it will fire, in nanoseconds of the loop's monotonic clock; nil while it is not armed.
    public private(set) var deadline: Int64?

    private let loop: EventLoop
    private let handle: Handle?
    private let action: () -> Void
    /// Counts the armings and cancellations, so that a late firing knows whether it still counts.
    private var arming = 0

    /// A timer is late by more than this only if the process, or its loop, stood still.
    private static let lateness: Int64 = 200_000_000

    /// A timer that calls `action`, not armed yet. On a loop that has closed it never fires.
    public init(on loop: EventLoop, _ action: @escaping () -> Void) {
        loop.preconditionCurrent()
        self.loop = loop
        self.action = action
        // It fails on a closed loop only.
        handle = try? Handle("uv_timer_init", in: loop.handles) { uv_timer_init($0, $1) }
        handle?.onEvent = { [weak self] _, _ in self?.timeHasCome() }
    }

    deinit {
        loop.release(handle)
    }

    /// Fires at `moment`, in nanoseconds of the loop's monotonic clock, never early; at once if it has passed. An
    /// earlier arming is forgotten.
    public func arm(at moment: Int64) {
        guard let handle, handle.isOpen else { return }
        deadline = moment
        arming += 1
        uv_update_time(loop.raw)
        // libuv counts in whole milliseconds of the same clock, so the deadline is rounded up.
        let due = moment / 1_000_000 + (moment % 1_000_000 > 0 ? 1 : 0)
        // A timer armed for now while another fires would keep libuv at its timers, for ever if it does so each time.
        let soonest: Int64 = loop.isFiringTimer ? 1 : 0
        let wait = max(soonest, due - Int64(uv_now(loop.raw)))
        uv_timer_start(handle.raw(), { Handle.of($0).onEvent?(0, 0) }, UInt64(wait), 0)
    }

    /// Fires after `delay`, never early. An earlier arming is forgotten.
    public func arm(after delay: Duration) {
        arm(at: loop.deadline(after: delay))
    }

    /// Forgets the arming, if there is one.
    public func cancel() {
        guard let handle, handle.isOpen, deadline != nil else { return }
        deadline = nil
        arming += 1
        uv_timer_stop(handle.raw())
    }

    private func timeHasCome() {
        guard let deadline, loop.monotonicNow - deadline > LoopTimer.lateness else { return fire() }
        let arming = arming
        loop.atEndOfNextTurn { [weak self] in
            guard let self, self.arming == arming else { return }
            self.fire()
        }
    }

    private func fire() {
        deadline = nil
        loop.isFiringTimer = true
        action()
        loop.isFiringTimer = false
    }
}

/// Calls back on the loop when the process gets a signal. It lives on the loop's thread, and dies with its owner.
public final class LoopSignal {
    private let loop: EventLoop
    private let handle: Handle

    /// Watches for signal `number`, like `SIGTERM`, whose usual effect it takes away. A signal that was held until now
    /// (``ProcessSignals/prepare(holding:)``) arrives.
    public init(_ number: Int32, on loop: EventLoop, _ action: @escaping () -> Void) throws(TransportError) {
        loop.preconditionCurrent()
        self.loop = loop
        handle = try Handle("uv_signal_init", in: loop.handles) { uv_signal_init($0, $1) }
        handle.onEvent = { _, _ in action() }
        let code = uv_signal_start(handle.raw(), { Handle.of($0).onEvent?(0, $1) }, number)
        guard code < 0 else {
            LoopSignal.unblock(number)
            return
        }
        handle.close()
        throw .system(operation: "uv_signal_start", code: code)
    }

    private static func unblock(_ number: Int32) {
        var followed = sigset_t()
        sigemptyset(&followed)
        sigaddset(&followed, number)
        pthread_sigmask(SIG_UNBLOCK, &followed, nil)
    }

    deinit {
        loop.release(handle)
    }
}

/// Tells when a descriptor that somebody else owns can be read. It lives on the loop's thread, and dies with its owner;
/// the descriptor may be closed after it.
public final class DescriptorWatch {
    private let loop: EventLoop
    private let handle: Handle

    /// Calls `action` whenever `descriptor` can be read, until the watch is gone. A failure of the descriptor is told
    /// once and ends the watch (libuv stops there): make a new one to go on.
    public init(readable descriptor: Int32, on loop: EventLoop, _ action: @escaping () -> Void) throws(TransportError) {
        loop.preconditionCurrent()
        self.loop = loop
        handle = try Handle("uv_poll_init", in: loop.handles) { uv_poll_init($0, $1, descriptor) }
        handle.onEvent = { _, _ in action() }
        uv_poll_start(handle.raw(), Int32(UV_READABLE.rawValue)) { Handle.of($0).onEvent?($1, $2) }
    }

    deinit {
        loop.release(handle)
    }
}
