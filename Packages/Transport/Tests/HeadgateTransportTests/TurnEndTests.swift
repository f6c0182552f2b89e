import HeadgateData
import Testing

@testable import HeadgateTransport

@Suite struct TurnEndTests {
    @Test("work for the end of the turn runs once, after all sockets that were ready have been read")
    func runsAfterReads() throws {
        var steps: [String] = []
        try onLoop { loop in
            for name in ["a", "b", "c"] {
                let (forLoop, raw) = try RawSocket.pair()
                raw.send(name)
                let recorder = Recorder()
                recorder.onRead = { _ in
                    if steps.isEmpty { loop.atEndOfTurn { steps.append("end") } }
                    steps.append("read")
                    raw.close()
                }
                recorder.onClose = { if steps.count == 4 { loop.stop() } }
                try Connection(fileDescriptor: forLoop, on: loop).start(recorder)
            }
        }
        #expect(steps == ["read", "read", "read", "end"])
    }

    @Test("work added by such work runs in the same turn")
    func addedWork() throws {
        var steps: [String] = []
        try onLoop { loop in
            loop.atEndOfTurn {
                loop.atEndOfTurn {
                    steps.append("added")
                    loop.stop()
                }
                steps.append("first")
            }
        }
        #expect(steps == ["first", "added"])
    }

    @Test("phases run in order, and work added for an earlier phase runs in another round")
    func phases() throws {
        var steps: [String] = []
        try onLoop { loop in
            for phase in TurnPhase.allCases.reversed() {
                loop.atEndOfTurn(phase) { steps.append("\(phase)") }
            }
            loop.atEndOfTurn(.dispatch) {
                loop.atEndOfTurn(.facts) { steps.append("another fact") }
                loop.atEndOfTurn(.commit) { steps.append("another commit") }
            }
            loop.atEndOfTurn(.write) { loop.stop() }
        }
        #expect(
            steps == ["facts", "dispatch", "commit", "another commit", "watch", "write", "another fact"])
    }

    @Test("work that always adds itself does not starve the sockets")
    func endlessWork() throws {
        var rounds = 0
        try onLoop { loop in
            let (forLoop, raw) = try RawSocket.pair()
            let recorder = Recorder()
            recorder.onRead = { _ in loop.stop() }
            try Connection(fileDescriptor: forLoop, on: loop).start(recorder)
            func again() {
                rounds += 1
                if rounds == 100 { raw.send("enough") }
                if !loop.handles.isSealed { loop.atEndOfTurn(again) }
            }
            loop.atEndOfTurn(again)
        }
        #expect(rounds >= 100)
    }

    @Test("work for the end of the next turn runs after the sockets were read again, wherever it is added")
    func nextTurn() throws {
        var steps: [String] = []
        try onLoop { loop in
            let (forLoop, raw) = try RawSocket.pair()
            let recorder = Recorder()
            recorder.onRead = { _ in
                steps.append("read")
                guard steps.count == 1 else { return }
                loop.atEndOfNextTurn { steps.append("next") }
                loop.atEndOfTurn {
                    raw.send("again")
                    loop.atEndOfNextTurn {
                        steps.append("and so on")
                        loop.stop()
                    }
                }
            }
            raw.send("once")
            try Connection(fileDescriptor: forLoop, on: loop).start(recorder)
        }
        #expect(steps == ["read", "read", "next", "and so on"])
    }
}
