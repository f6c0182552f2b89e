import HeadgateCore
import Testing

@testable import HeadgateServer

/// Tests watchers that do not read their output (Behaviour B10): they get the present state when they read again.
@Suite("Slow watchers", .timeLimit(.minutes(5)))
struct SlowWatcherTests {
    @Test("B10: a slow watcher gets missed changes when it has read its output, without waiting for another change")
    func reportedOnDrain() async throws {
        try await ServiceStage.run { stage in
            let isReported = try await stage.slowWatcherIsNotified()
            #expect(isReported)
        }
    }
}

extension ServiceStage {
    fileprivate func slowWatcherIsNotified() async throws -> Bool {
        try await withCheckedThrowingContinuation { done in
            do {
                try inspect { service in
                    try SlowWatcher(service) { done.resume(returning: $0) }.begin()
                }
            } catch {
                done.resume(throwing: error)
            }
        }
    }
}

/// A client that watches dispatchers, and reads nothing until it has missed a change.
private final class SlowWatcher {
    private let service: Service
    private let client: RawClient
    /// The function that gets the outcome: true if the missed change was reported.
    private let done: (Bool) -> Void
    private var text = ""

    /// A duration longer than the interval between any watch's reports. Timers fire in the order of their deadlines.
    private static let longerThanAnyPace = Duration.milliseconds(200)
    private static let blank = UInt8(ascii: " ")
    private static let blankLine = [UInt8](repeating: blank, count: 65_535) + [UInt8(ascii: "\n")]

    init(_ service: Service, done: @escaping (Bool) -> Void) throws {
        self.service = service
        self.done = done
        client = try RawClient(of: service)
    }

    func begin() {
        client.send(#"{"jsonrpc":"2.0","id":1,"method":"watch","params":{"topics":["dispatchers"]}}"# + "\n")
        whenReported {
            $0.contains(#""method":"changed""#)
        } then: {
            self.fall()
        }
    }

    /// Makes the client fall behind: the service sends output that the client does not read.
    private func fall() {
        for session in service.sessions.all {
            for _ in 1...32 { session.send(Self.blankLine) }
        }
        service.scheduler.nextTurn { [self] in
            #expect(service.sessions.all.allSatisfy { $0.connection.outputBytes > 0 })
            _ = service.gate.pause("archive", reason: "missed", isFlushable: false) { _ in }
            // Waits for all reports that the pause causes, including a delayed one.
            after(Self.longerThanAnyPace) { self.catchUp() }
        }
    }

    private func catchUp() {
        take()
        guard service.sessions.all.allSatisfy({ $0.connection.outputBytes == 0 }) else {
            return service.scheduler.nextTurn { self.catchUp() }
        }
        after(Self.longerThanAnyPace) { [self] in
            take()
            done(text.contains("ManualBarrier:archive"))
        }
    }

    private func whenReported(_ isReported: @escaping (String) -> Bool, then: @escaping () -> Void) {
        take()
        if isReported(text) {
            text = ""
            return then()
        }
        service.scheduler.nextTurn { self.whenReported(isReported, then: then) }
    }

    private func take() {
        for line in client.lines() where line.first != Self.blank { text += String(decoding: line, as: UTF8.self) }
    }

    private func after(_ duration: Duration, _ work: @escaping () -> Void) {
        // The work runs in the turn after the deadline, when that turn's output has been written.
        _ = service.scheduler.schedule(at: service.scheduler.now + duration) { self.service.scheduler.nextTurn(work) }
    }
}
