import Glibc
import HeadgateTransport
import Testing

@Suite struct LoopTimerTests {
    @Test("timers fire in the order of their deadlines, never early")
    func order() throws {
        var fired: [Int] = []
        var timers: [LoopTimer] = []
        try onLoop { loop in
            let start = loop.monotonicNow
            let delays = [5, 1, 3, 2, 4]
            for delay in delays {
                let due = start + Int64(delay) * 3_000_001
                let timer = LoopTimer(on: loop) {
                    #expect(loop.monotonicNow >= due)
                    fired.append(delay)
                    if fired.count == delays.count { loop.stop() }
                }
                timer.arm(at: due)
                #expect(timer.deadline == due)
                timers.append(timer)
            }
        }
        #expect(fired == [1, 2, 3, 4, 5])
        #expect(timers.allSatisfy { $0.deadline == nil })
    }

    @Test("P7: before a late timer fires the loop reads available input, which may cancel or move the timer")
    func late() throws {
        let recorder = Recorder()
        var events: [String] = []
        try onLoop { loop in
            let (end, raw) = try RawSocket.pair()
            let connection = try Connection(fileDescriptor: end, on: loop)
            connection.start(recorder)
            recorder.onRead = { _ in events.append("read") }
            let past = loop.monotonicNow - 1_000_000_000
            let cancelled = LoopTimer(on: loop) { events.append("cancelled") }
            let moved = LoopTimer(on: loop) { events.append("moved") }
            let timer = LoopTimer(on: loop) {
                events.append("late")
                cancelled.cancel()
                withExtendedLifetime(moved) { connection.close() }
            }
            recorder.onClose = { loop.stop() }
            raw.send("x")
            timer.arm(at: past)
            cancelled.arm(at: past)
            moved.arm(at: past)
            moved.arm(after: .seconds(3_600))
            loop.later(turns: 20) { withExtendedLifetime((timer, raw)) {} }
        }
        #expect(events == ["read", "late"])
    }

    @Test("a cancelled timer does not fire, and can be armed again")
    func cancelAndArmAgain() throws {
        var fired = 0
        var timers: [LoopTimer] = []
        try onLoop { loop in
            let cancelled = LoopTimer(on: loop) { Issue.record("fired although cancelled") }
            cancelled.arm(after: .milliseconds(1))
            cancelled.cancel()
            #expect(cancelled.deadline == nil)
            let revived = LoopTimer(on: loop) { fired += 1 }
            revived.arm(after: .milliseconds(1))
            revived.cancel()
            revived.arm(after: .milliseconds(2))
            let last = LoopTimer(on: loop) { loop.stop() }
            last.arm(after: .milliseconds(20))
            timers = [cancelled, revived, last]
        }
        #expect(fired == 1)
        #expect(timers.allSatisfy { $0.deadline == nil })
    }

    @Test("arming again moves the deadline, and one timer fires many times by arming itself, for now too")
    func rearm() throws {
        var fired = 0
        try onLoop { loop in
            var timer: LoopTimer?
            timer = LoopTimer(on: loop) {
                fired += 1
                #expect(timer?.deadline == nil)
                if fired < 10 { return timer?.arm(after: .zero) ?? () }
                timer = nil
                loop.stop()
            }
            timer?.arm(after: .seconds(3600))
            timer?.arm(at: 0)
        }
        #expect(fired == 10)
    }

    @Test("timers that arm new ones for now do not starve the loop")
    func freshTimersForNow() throws {
        var timers: [LoopTimer] = []
        var isStopped = false
        try onLoop { loop in
            func again() {
                guard !isStopped else { return }
                timers.append(LoopTimer(on: loop, again))
                timers.last?.arm(after: .zero)
            }
            again()
            loop.submit { loop.stop() }
            let bound = LoopTimer(on: loop) { isStopped = true }
            bound.arm(after: .seconds(30))
            timers.append(bound)
        }
        // The loop was stopped by the submitted closure, not by the timer that bounds the test.
        #expect(!isStopped)
    }

    @Test("a released timer does not fire")
    func goneTimer() throws {
        var last: LoopTimer?
        try onLoop { loop in
            LoopTimer(on: loop) { Issue.record("fired although gone") }.arm(after: .zero)
            last = LoopTimer(on: loop) { loop.stop() }
            last?.arm(after: .milliseconds(10))
        }
    }

    @Test("a timer may be released on another thread")
    func goneElsewhere() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        await withCheckedContinuation { continuation in
            loop.submit {
                // The timer is released with the closure, on the detached thread below.
                nonisolated(unsafe) let timer = LoopTimer(on: loop) { Issue.record("fired although gone") }
                timer.arm(after: .seconds(36_000))
                Task.detached {
                    withExtendedLifetime(timer) {}
                    continuation.resume()
                }
            }
        }
        loop.stop()
        await loop.waitUntilClosed()
    }
}

@Suite struct LoopSignalTests {
    @Test("a signal to the process calls back on the loop, each time", arguments: [SIGUSR1, SIGUSR2])
    func signalArrives(number: Int32) throws {
        var times = 0
        var signal: LoopSignal?
        try onLoop { loop in
            signal = try LoopSignal(number, on: loop) {
                #expect(loop.isCurrent)
                times += 1
                if times == 3 { loop.stop() } else { kill(getpid(), number) }
            }
            kill(getpid(), number)
        }
        #expect(times == 3)
        withExtendedLifetime(signal) {}
    }

    @Test("a signal that does not exist is refused")
    func unknownSignal() throws {
        try onLoop { loop in
            #expect(throws: TransportError.self) { try LoopSignal(1000, on: loop) {} }
            loop.stop()
        }
    }
}

@Suite struct DescriptorWatchTests {
    @Test("a readable descriptor is reported on the loop each turn until everything is read")
    func readable() throws {
        let (watched, raw) = try RawSocket.pair()
        let reader = RawSocket(watched)
        var texts: [String] = []
        var watch: DescriptorWatch?
        try onLoop { loop in
            watch = try DescriptorWatch(readable: watched, on: loop) {
                #expect(loop.isCurrent)
                texts.append(String(decoding: reader.read(2) ?? [], as: UTF8.self))
                if texts.count == 3 { loop.stop() }
            }
            raw.send("abcde")
        }
        #expect(texts == ["ab", "cd", "e"])
        withExtendedLifetime(watch) {}
    }

    @Test("nothing is reported without input, and later input is")
    func waits() throws {
        let (watched, raw) = try RawSocket.pair()
        let reader = RawSocket(watched)
        var times = 0
        var watch: DescriptorWatch?
        try onLoop { loop in
            watch = try DescriptorWatch(readable: watched, on: loop) {
                times += 1
                #expect(reader.read() == Array("later".utf8))
                loop.stop()
            }
            loop.later(turns: 3) {
                #expect(times == 0)
                raw.send("later")
            }
        }
        #expect(times == 1)
        withExtendedLifetime(watch) {}
    }

    @Test("the end of the peer is reported")
    func end() throws {
        let (watched, raw) = try RawSocket.pair()
        let reader = RawSocket(watched)
        var watch: DescriptorWatch?
        try onLoop { loop in
            watch = try DescriptorWatch(readable: watched, on: loop) {
                #expect(reader.read() == nil)
                watch = nil
                loop.stop()
            }
            raw.close()
        }
        #expect(watch == nil)
    }

    @Test("an error is reported, and a new watch of the descriptor reports the next one")
    func error() throws {
        let (reader, refusedPort) = try datagramSocket()
        var reported: [Int32] = []
        var watch: DescriptorWatch?
        try onLoop { loop in
            func listen() throws {
                watch = nil
                watch = try DescriptorWatch(readable: reader.number, on: loop) {
                    reported.append(pendingError(of: reader.number))
                    do { try listen() } catch { Issue.record(error) }
                    if reported.count == 2 { loop.stop() } else { knock(reader.number) }
                }
            }
            try listen()
            knock(reader.number)
        }
        #expect(reported == [ECONNREFUSED, ECONNREFUSED])
        withExtendedLifetime((watch, refusedPort)) {}
    }

    @Test("a released watch reports nothing, and does not close the descriptor")
    func gone() throws {
        let (watched, raw) = try RawSocket.pair()
        let reader = RawSocket(watched)
        try onLoop { loop in
            _ = try DescriptorWatch(readable: watched, on: loop) { Issue.record("told although gone") }
            raw.send("x")
            loop.later(turns: 3) { loop.stop() }
        }
        #expect(reader.read() == Array("x".utf8))
    }

    @Test("a watch may be released on another thread")
    func goneElsewhere() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        let (watched, raw) = try RawSocket.pair()
        await withCheckedContinuation { continuation in
            loop.submit {
                // The watch is released with the closure, on the detached thread below.
                nonisolated(unsafe) let watch = try? DescriptorWatch(readable: watched, on: loop) {}
                #expect(watch != nil)
                Task.detached {
                    withExtendedLifetime(watch) {}
                    continuation.resume()
                }
            }
        }
        loop.stop()
        await loop.waitUntilClosed()
        close(watched)
        withExtendedLifetime(raw) {}
    }

    @Test("closed descriptors and descriptors already watched are refused")
    func refused() throws {
        let (watched, raw) = try RawSocket.pair()
        let reader = RawSocket(watched)
        try onLoop { loop in
            #expect(throws: TransportError.self) { try DescriptorWatch(readable: -1, on: loop) {} }
            let first = try DescriptorWatch(readable: watched, on: loop) {}
            #expect(throws: TransportError.self) { try DescriptorWatch(readable: watched, on: loop) {} }
            withExtendedLifetime(first) {}
            loop.stop()
        }
        withExtendedLifetime((reader, raw)) {}
    }

    @Test("a closed loop refuses watches of descriptors")
    func closedLoop() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        loop.stop()
        await loop.waitUntilClosed()
        let (watched, raw) = try RawSocket.pair()
        let isRefused = await withCheckedContinuation { continuation in
            loop.submit {
                let watch = try? DescriptorWatch(readable: watched, on: loop) {}
                continuation.resume(returning: watch == nil)
            }
        }
        #expect(isRefused)
        close(watched)
        withExtendedLifetime(raw) {}
    }

    // MARK: A socket that has errors

    /// Creates a datagram socket that sends to a port of 127.0.0.1, and the socket bound to that port, which refuses
    /// the datagrams.
    private func datagramSocket() throws -> (sender: RawSocket, holder: RawSocket) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let (holder, sender) = (try datagram(), try datagram())
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) {
            try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try #require(bind(holder.number, $0, size) == 0)
                try #require(getsockname(holder.number, $0, &size) == 0)
                // A connected socket refuses datagrams from any other sender.
                try #require(connect(holder.number, $0, size) == 0)
                try #require(connect(sender.number, $0, size) == 0)
            }
        }
        return (sender, holder)
    }

    private func datagram() throws -> RawSocket {
        let number = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        try #require(number >= 0)
        return RawSocket(number)
    }

    /// Sends a datagram that is refused at once, which leaves an error on the sending socket.
    private func knock(_ sender: Int32) {
        send(sender, "x", 1, 0)
    }

    /// Returns the pending error of a socket, and clears it.
    private func pendingError(of socket: Int32) -> Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size)
        return code
    }
}
