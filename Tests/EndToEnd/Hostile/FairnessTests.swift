import Foundation
import Synchronization
import Testing

/// X3: garbage input next to a working client.
@Suite struct FairnessTests {
    /// The share of each client in a turn is tested in `TurnShareTests`, where turns can be counted.
    @Test("X3: a client's requests are answered while others send garbage without end")
    func turns() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: ["durability": "memory"])
            let good = try await daemon.connect()
            let sources = try (1...3).map { _ in try GarbageSource(daemon.socketPath) }
            defer { for source in sources { source.stop() } }
            try await eventually("a megabyte of garbage each") { sources.allSatisfy { $0.sentBytes > 1 << 20 } }
            var amounts: [Int] = []
            for _ in 1...200 {
                let before = sources.reduce(0) { $0 + $1.sentBytes }
                _ = try await good.result("ping")
                amounts.append(sources.reduce(0) { $0 + $1.sentBytes } - before)
            }
            // The garbage was read all the time.
            #expect(amounts.reduce(0, +) > 0)
        }
    }
}

/// A thread that sends invalid lines as fast as the daemon reads them, and reads the answers.
private final class GarbageSource: Sendable {
    private let descriptor: Int32
    private let sent = Mutex(0)

    init(_ socketPath: String) throws {
        descriptor = try SystemError.check(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0), "socket")
        _ = try SystemError.check(UnixSocket.connect(descriptor, to: socketPath), "connect")
        Thread.detachNewThread { self.run() }
    }

    var sentBytes: Int { sent.withLock { $0 } }

    func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    private func run() {
        defer { close(descriptor) }
        let lines = [UInt8](repeating: UInt8(ascii: "x"), count: 60_000) + Array("\n".utf8)
        var answers = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = send(descriptor, lines, lines.count, Int32(MSG_NOSIGNAL))
            guard count > 0 else { return }
            sent.withLock { $0 += count }
            while recv(descriptor, &answers, answers.count, Int32(MSG_DONTWAIT)) > 0 {}
        }
    }
}
