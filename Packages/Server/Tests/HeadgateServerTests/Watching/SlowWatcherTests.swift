import HeadgateCore
import Testing

@testable import HeadgateServer

/// B10: a watcher that has not read its output gets the present state once it has read it.
@Suite("Slow watchers", .timeLimit(.minutes(5)))
struct SlowWatcherTests {
    @Test("B10: a slow watcher gets the missed changes as soon as it has read its output, without further news")
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
    /// Called with true if the change was reported.
    private let done: (Bool) -> Void
    private var text = ""

    /// A time longer than the pace of any watch. Timers of one loop fire in the order of their deadlines.
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
            // Wait for all reports that the pause causes, including a delayed one.
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
        // The work runs at the end of the next turn, when the turn's output has been written.
        _ = service.scheduler.schedule(at: service.scheduler.now + duration) { self.service.scheduler.nextTurn(work) }
    }
}
