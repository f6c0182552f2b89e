import Glibc
import Testing

@testable import HeadgateTransport

@Suite struct ConnectionEndTests {
    let recorder = Recorder()

    @Test("a half-closed peer still gets all output, and then the end")
    func halfClose() throws {
        var answer: [UInt8]?
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            recorder.onEnd = { connection in
                #expect(connection.hasReachedEnd)
                loop.later(turns: 10) {
                    #expect(connection.isWritable)
                    connection.write(Array("answer".utf8))
                    connection.closeAfterFlush()
                }
            }
            recorder.onClose = {
                answer = raw.read()
                loop.stop()
            }
            raw.send("question")
            raw.finishWriting()
            withExtendedLifetime(connection) {}
        }
        #expect(recorder.text == "question")
        #expect(answer == Array("answer".utf8))
        #expect(recorder.closeError == nil)
        #expect(recorder.losses == 0)
    }

    @Test(
        "closing within any callback is safe, and only the close is reported after it",
        arguments: ["read", "end", "drain", "loss"])
    func closeWithinCallback(callback: String) throws {
        var eventsAtClose = -1
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            let close: (Connection) -> Void = { [recorder] in
                $0.close()
                $0.close()
                #expect(!$0.isOpen)
                eventsAtClose = recorder.events
            }
            recorder.onRead = callback == "read" ? close : { _ in }
            recorder.onEnd = callback == "end" ? close : { _ in }
            recorder.onDrain = callback == "drain" ? close : { _ in }
            recorder.onLoss = callback == "loss" ? close : { _ in }
            recorder.onClose = { loop.later(turns: 5) { loop.stop() } }
            connection.write(Array("hello".utf8))
            raw.send("hello")
            loop.later(turns: 3) { raw.close() }
        }
        #expect(eventsAtClose > 0)
        #expect(recorder.events == eventsAtClose)
        #expect(recorder.closes == 1)
        #expect(recorder.closeError == nil)
    }

    @Test("a closed connection ignores writes and reports nothing")
    func afterClose() throws {
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            raw.send("unread")
            connection.close()
            connection.write(Array("lost".utf8))
            connection.resumeReading()
            connection.pauseReading()
            connection.shutdownWriting()
            connection.closeAfterFlush()
            connection.start(Recorder())
            #expect(connection.outputBytes == 0)
            recorder.onClose = { loop.later(turns: 5) { loop.stop() } }
        }
        #expect(recorder.events == 0)
        #expect(recorder.closes == 1)
    }

    @Test("a write to a closed peer neither kills the process nor loses the peer's earlier data")
    func peerGone() throws {
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            recorder.onEnd = { _ in }
            recorder.onClose = { loop.stop() }
            recorder.onLoss = { connection in
                #expect(connection.isPeerGone)
                #expect(!connection.isWritable)
                connection.write(Array("dropped".utf8))
                #expect(connection.outputBytes == 0)
            }
            raw.send("last words")
            raw.close()
            connection.write(Array("hello?".utf8))
        }
        #expect(recorder.text == "last words")
        #expect(recorder.losses == 1)
        #expect(recorder.ends == 1)
        #expect(recorder.closes == 1)
        #expect(recorder.closeError?.code == -EPIPE)
    }

    @Test("data of a peer that closes with unread input is not lost")
    func peerGoneUnread() throws {
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            recorder.onEnd = { _ in }
            recorder.onDrain = { _ in
                raw.send("last words")
                raw.close()
            }
            recorder.onClose = { loop.stop() }
            connection.write(Array("never read".utf8))
        }
        #expect(recorder.text == "last words")
        #expect(recorder.losses == 1)
        #expect(recorder.ends == 1)
        #expect(recorder.closeError?.code == -ECONNRESET)
    }

    @Test("X2: a paused connection notices the loss of its peer, and reads the peer's data when resumed")
    func pausedLearnsOfLoss() throws {
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            connection.pauseReading()
            raw.send("last words")
            raw.close()
            recorder.onLoss = { [recorder] connection in
                #expect(recorder.reads == 0)
                loop.later(turns: 5) { connection.resumeReading() }
            }
            recorder.onEnd = { _ in }
            recorder.onClose = { loop.stop() }
        }
        #expect(recorder.text == "last words")
        #expect(recorder.losses == 1)
        #expect(recorder.ends == 1)
        #expect(recorder.closes == 1)
    }

    @Test("a paused connection with a half-closed peer does not count as lost, and the loop does not spin")
    func pausedHalfClose() throws {
        var timer: LoopTimer?
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            connection.pauseReading()
            raw.finishWriting()
            let counter = try TurnCounter(of: loop)
            timer = LoopTimer(on: loop) { [recorder] in
                #expect(recorder.events == 0)
                #expect(counter.turns < 10)
                withExtendedLifetime(raw) { connection.resumeReading() }
            }
            timer?.arm(after: .milliseconds(20))
            recorder.onClose = { loop.stop() }
        }
        #expect(recorder.losses == 0)
        #expect(recorder.ends == 1)
    }

    @Test(
        "a half-closed connection kept open for answers does not make the loop spin, and notices the loss of its peer")
    func endedLearnsOfLoss() throws {
        var timer: LoopTimer?
        try onLoop { loop in
            let (_, raw) = try start(on: loop)
            let counter = try TurnCounter(of: loop)
            recorder.onEnd = { _ in timer?.arm(after: .milliseconds(20)) }
            timer = LoopTimer(on: loop) {
                #expect(counter.turns < 10)
                raw.close()
            }
            recorder.onClose = { loop.stop() }
            raw.finishWriting()
        }
        #expect(recorder.ends == 1)
        #expect(recorder.losses == 1)
        #expect(recorder.closeError?.code == -EPIPE)
    }

    @Test("X3: urgent bytes neither count as a hang-up nor make the loop spin")
    func urgentBytes() throws {
        var timer: LoopTimer?
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            connection.pauseReading()
            raw.send("!", flags: Int(MSG_OOB))
            let counter = try TurnCounter(of: loop)
            timer = LoopTimer(on: loop) { [recorder] in
                #expect(recorder.losses == 0)
                #expect(counter.turns < 10)
                withExtendedLifetime(raw) { connection.close() }
            }
            timer?.arm(after: .milliseconds(20))
            recorder.onClose = { loop.stop() }
        }
        #expect(recorder.closeError == nil)
    }

    @Test("X2: the loss of a peer after an urgent byte is noticed while reading is paused", arguments: [1, 3])
    func goneAfterUrgentByte(count: Int) throws {
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            connection.pauseReading()
            recorder.onLoss = {
                $0.close()
                loop.stop()
            }
            for number in 1...count {
                loop.later(turns: 5 * number) {
                    raw.send("!", flags: Int(MSG_OOB))
                    if number == count { loop.later(turns: 5) { raw.close() } }
                }
            }
        }
        #expect(recorder.losses == 1)
    }

    @Test("an orderly end of both sides is not an error")
    func bothSidesEnd() throws {
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            recorder.onEnd = { _ in }
            recorder.onClose = { loop.stop() }
            connection.write(Array("bye".utf8))
            connection.shutdownWriting()
            loop.later(turns: 5) {
                #expect(raw.read() == Array("bye".utf8))
                raw.close()
            }
        }
        #expect(recorder.ends == 1)
        #expect(recorder.closes == 1)
        #expect(recorder.closeError == nil)
    }

    @Test("closeAfterFlush sends all output, discards unread input, and the peer sees a clean end")
    func closeAfterFlush() throws {
        let peer = Recorder()
        try onLoop { loop in
            var ends: [Int32] = [0, 0]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            let connection = try Connection(fileDescriptor: ends[0], on: loop)
            let far = try Connection(fileDescriptor: ends[1], on: loop)
            connection.start(recorder)
            far.write(Array("never asked for".utf8))
            far.start(peer)
            connection.write([UInt8](repeating: 1, count: 3 << 20))
            connection.closeAfterFlush()
            #expect(connection.isOpen)
            #expect(!connection.isWritable)
            peer.onClose = { loop.stop() }
        }
        #expect(peer.received.count == 3 << 20)
        #expect(peer.ends == 1)
        #expect(peer.closeError == nil)
        #expect(recorder.reads == 0)
        #expect(recorder.closes == 1)
        #expect(recorder.closeError == nil)
    }

    @Test("a peer with unread bytes does not see a reset connection")
    func closeAfterFlushIsClean() throws {
        var result = -1
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            connection.pauseReading()
            raw.send(String(repeating: "never read", count: 5_000))
            connection.write(Array("bye".utf8))
            connection.closeAfterFlush()
            recorder.onClose = {
                #expect(raw.read() == Array("bye".utf8))
                // The peer sees the end of the stream, not ECONNRESET.
                var byte: UInt8 = 0
                result = recv(raw.number, &byte, 1, Int32(MSG_DONTWAIT))
                loop.stop()
            }
        }
        #expect(result == 0)
        #expect(recorder.reads == 0)
    }

    @Test(
        "a connection with pending output reports the loss of its peer once",
        .timeLimit(.minutes(5)), arguments: [true, false])
    func drainedByLoss(hasOutput: Bool) throws {
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            connection.pauseReading()
            if hasOutput { connection.write([UInt8](repeating: 1, count: 4 << 20)) }
            recorder.onLoss = { [recorder] in
                #expect(recorder.drains == 0)
                #expect($0.outputBytes == 0)
                #expect($0.output.bytes.capacity == 0)
                // The loss is reported once, however long the loop runs. A process being spawned may hold the other end
                // open for a while.
                loop.later(turns: 15) {
                    connection.close()
                    loop.stop()
                }
            }
            loop.later(turns: 5) { raw.close() }
        }
        #expect(recorder.losses == 1)
        #expect(recorder.drains == (hasOutput ? 1 : 0))
    }

    @Test("closing with unread input keeps the bytes valid that are being read")
    func closeWhileReading() throws {
        final class Closer: ConnectionHandler {
            var onRead: () -> Void = {}
            var textAfterClose = ""
            func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
                onRead()
                connection.closeAfterFlush()
                textAfterClose = String(decoding: bytes, as: UTF8.self)
            }
            func connectionDidReachEnd(_ connection: Connection) {}
            func connectionDidClose(_ connection: Connection, error: TransportError?) { connection.loop.stop() }
        }
        let closer = Closer()
        try onLoop { loop in
            let (forLoop, raw) = try RawSocket.pair()
            closer.onRead = { raw.send("more that nobody wants") }
            raw.send("looked at")
            try Connection(fileDescriptor: forLoop, on: loop).start(closer)
        }
        #expect(closer.textAfterClose == "looked at")
    }

    @Test("closeAfterFlush without output closes at once, and with a lost peer it also ends")
    func closeAfterFlushEnds() throws {
        let blocked = Recorder()
        try onLoop { loop in
            let (idle, rawOfIdle) = try start(on: loop)
            idle.closeAfterFlush()
            #expect(!idle.isOpen)
            let (forLoop, raw) = try RawSocket.pair()
            let connection = try Connection(fileDescriptor: forLoop, on: loop)
            connection.start(blocked)
            connection.write([UInt8](repeating: 1, count: 3 << 20))
            connection.closeAfterFlush()
            blocked.onClose = {
                withExtendedLifetime(rawOfIdle) {}
                loop.stop()
            }
            loop.later(turns: 5) { raw.close() }
        }
        #expect(recorder.closes == 1)
        #expect(blocked.closes == 1)
        #expect(blocked.losses == 1)
        #expect(blocked.closeError != nil)
    }

    @Test("connections that are open at the loop's end are closed and notified")
    func loopEnds() throws {
        try onLoop { loop in
            let (connection, raw) = try start(on: loop)
            connection.write(Array("whatever".utf8))
            recorder.onClose = {
                withExtendedLifetime(raw) {}
                #expect(throws: TransportError.loopClosed) {
                    try Connection(fileDescriptor: RawSocket.pair().forLoop, on: loop)
                }
                LoopTimer(on: loop) {}.arm(after: .zero)
                loop.atEndOfTurn {}
            }
            loop.stop()
        }
        #expect(recorder.closes == 1)
    }

    /// Creates a connection that reports to the recorder, and its other end.
    private func start(on loop: EventLoop) throws -> (Connection, RawSocket) {
        let (forLoop, raw) = try RawSocket.pair()
        let connection = try Connection(fileDescriptor: forLoop, on: loop)
        connection.start(recorder)
        return (connection, raw)
    }
}
