import Glibc
import Testing

@testable import HeadgateTransport

@Suite struct BackPressureTests {
    private static let line = Array("a line of output that nobody reads for the time being\n".utf8)

    @Test("X2: the owner sees the output pending for a peer that does not read, and all arrives when it reads")
    func slowReader() throws {
        let server = Recorder()
        let client = Recorder()
        var written = 0
        var isBlocked = false
        try onLoop { loop in
            let (near, far) = try pair(on: loop)
            var lastProgress = near.lastOutputProgress
            server.onDrain = { if isBlocked { $0.closeAfterFlush() } }
            client.onClose = { loop.stop() }
            near.start(server)
            far.start(client)
            far.pauseReading()
            // Backpressure by the owner of the connection: it stops writing when too much output is unsent.
            func produce() {
                #expect(near.lastOutputProgress >= lastProgress)
                lastProgress = near.lastOutputProgress
                guard near.outputBytes < 1 << 20 else {
                    isBlocked = true
                    return far.resumeReading()
                }
                for _ in 0..<1000 { near.write(Self.line) }
                written += 1000
                loop.later(produce)
            }
            produce()
        }
        #expect(written * Self.line.count > 1 << 20)
        #expect(client.received.count == written * Self.line.count)
        #expect(client.received.suffix(Self.line.count) == Self.line[...])
        #expect(server.closeError == nil)
    }

    @Test("X2: the time of the last progress does not change while the peer does not read")
    func progressStandsStill() throws {
        var timers: [LoopTimer] = []
        try onLoop { loop in
            let (near, far) = try pair(on: loop)
            near.start(Recorder())
            near.write([UInt8](repeating: 120, count: 4 << 20))
            var seen: Int64?
            let watch = LoopTimer(on: loop) {
                #expect(near.outputBytes > 0)
                guard let before = seen else {
                    seen = near.lastOutputProgress
                    return timers[0].arm(after: .milliseconds(5))
                }
                #expect(near.lastOutputProgress == before)
                #expect(loop.monotonicNow > before)
                withExtendedLifetime(far) { timers = [] }
                loop.stop()
            }
            timers = [watch]
            watch.arm(after: .milliseconds(5))
        }
    }

    @Test("X2: any amount that a peer reads counts as progress")
    func progressWhileBlocked() throws {
        var timers: [LoopTimer] = []
        try onLoop { loop in
            let (forLoop, raw) = try RawSocket.pair()
            let connection = try Connection(fileDescriptor: forLoop, on: loop)
            connection.start(Recorder())
            connection.write([UInt8](repeating: 120, count: 8 << 20))
            var before: (stamp: Int64, left: Int)?
            let check = LoopTimer(on: loop) {
                guard let seen = before else {
                    before = (connection.lastOutputProgress, connection.outputBytes)
                    #expect(connection.outputBytes > 0)
                    _ = raw.read()
                    return timers[0].arm(after: .milliseconds(5))
                }
                guard connection.outputBytes < seen.left else { return timers[0].arm(after: .milliseconds(5)) }
                #expect(connection.outputBytes > 0)
                #expect(connection.lastOutputProgress > seen.stamp)
                timers = []
                loop.stop()
            }
            timers = [check]
            check.arm(after: .milliseconds(5))
        }
    }

    @Test(
        "X2: output for a peer with a full socket waits since it was written, not since the last progress")
    func progressBeginsWithTheWait() throws {
        var timer: LoopTimer?
        try onLoop { loop in
            let (forLoop, raw) = try RawSocket.pair()
            let connection = try Connection(fileDescriptor: forLoop, on: loop)
            connection.start(Recorder())
            // Fill the socket without the connection's knowledge, which has no output and is not blocked.
            while send(connection.number, Self.line, Self.line.count, Int32(MSG_DONTWAIT)) > 0 {}
            while send(connection.number, Self.line, 1, Int32(MSG_DONTWAIT)) > 0 {}
            let made = connection.lastOutputProgress
            timer = LoopTimer(on: loop) {
                let written = loop.monotonicNow
                #expect(written > made)
                connection.write(Self.line)
                #expect(connection.lastOutputProgress >= written, "who looks before the turn ends sees no old output")
                loop.later(turns: 2) {
                    #expect(connection.outputBytes == Self.line.count)
                    #expect(connection.lastOutputProgress >= written)
                    withExtendedLifetime(raw) { timer = nil }
                    loop.stop()
                }
            }
            timer?.arm(after: .milliseconds(5))
        }
    }

    @Test("X2: a paused connection reads nothing, and everything once it is resumed")
    func pausedReader() throws {
        let reader = Recorder()
        try onLoop { loop in
            let (forLoop, raw) = try RawSocket.pair()
            reader.onRead = { connection in
                guard reader.reads == 1 else { return loop.stop() }
                connection.pauseReading()
                raw.send("two")
                loop.later(turns: 10) {
                    #expect(reader.text == "one")
                    connection.resumeReading()
                }
            }
            raw.send("one")
            try Connection(fileDescriptor: forLoop, on: loop).start(reader)
        }
        #expect(reader.text == "onetwo")
    }

    @Test("connections without output hold no buffer")
    func idleHoldsNothing() throws {
        try onLoop { loop in
            let (near, far) = try pair(on: loop)
            far.start(Recorder())
            let recorder = Recorder()
            recorder.onDrain = { connection in
                #expect(connection.output.bytes.capacity == 0)
                loop.stop()
            }
            near.start(recorder)
            near.withOutput { _ in }
            #expect(near.output.bytes.capacity == 0)
            near.write(Self.line)
        }
    }

    /// Creates two connections to each other on one loop.
    private func pair(on loop: EventLoop) throws -> (Connection, Connection) {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        return (try Connection(fileDescriptor: ends[0], on: loop), try Connection(fileDescriptor: ends[1], on: loop))
    }
}
