import Foundation
import HeadgateTransport
import Testing

/// Inherited signal dispositions and their treatment by a program. The suite is serialized, since dispositions belong
/// to the whole process.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ProcessSignalsTests {
    /// Runs `body` on a new thread, so that a changed signal mask ends with the thread.
    private func onThread(_ body: @escaping @Sendable () -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }

    private static func isBlocked(_ number: Int32) -> Bool {
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        return sigismember(&mask, number) == 1
    }

    @Test("Inherited blocked signals are unblocked, except those that the program holds until it handles them")
    func mask() async {
        let isRight = await onThread {
            var blocked = sigset_t()
            sigemptyset(&blocked)
            sigaddset(&blocked, SIGCHLD)
            sigaddset(&blocked, SIGTERM)
            pthread_sigmask(SIG_SETMASK, &blocked, nil)
            ProcessSignals.prepare(holding: [SIGHUP])
            let isHeld = Self.isBlocked(SIGHUP) && !Self.isBlocked(SIGCHLD) && !Self.isBlocked(SIGTERM)
            ProcessSignals.release()
            return isHeld && !Self.isBlocked(SIGHUP)
        }
        #expect(isRight)
    }

    @Test("A closed pipe and a file size limit are errors of a call, and do not end the process")
    func dispositions() async {
        let isRight = await onThread {
            signal(SIGXFSZ, SIG_DFL)
            ProcessSignals.prepare()
            return ProcessSignals.isIgnored(SIGXFSZ) && ProcessSignals.isIgnored(SIGPIPE)
                && !ProcessSignals.isIgnored(SIGCHLD)
        }
        #expect(isRight)
    }
}
