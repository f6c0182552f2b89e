import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateStore

@Suite("The log's state beside the events")
struct LogStateTests {
    private let span = LogSpan(
        first: 5, last: 9, tallies: [1: Tally(events: 2, bytes: 40), 2: Tally(events: 3, bytes: 60)], ages: GroupAges())

    private func state(_ settled: [DispatcherNumber: Settled]) -> LogState {
        var state = LogState()
        for (number, settled) in settled {
            state.dispatchers[number] = StoredDispatcher(number: number, id: "d\(number)", settled: settled)
        }
        state.routes = [1: [1], 2: [1, 2]]
        return state
    }

    private func deadLetter(_ number: SequenceNumber, dispatcher: DispatcherNumber = 1, bytes: Int = 10) -> DeadLetter {
        DeadLetter(
            dispatcher: dispatcher, sequenceNumber: number, reason: .maxAttempts, status: 503, answer: "no",
            attempts: 3, firstFailedAt: Timestamp(milliseconds: 1), diedAt: Timestamp(milliseconds: 2),
            record: [UInt8](repeating: 7, count: bytes))
    }

    @Test("Q11: a state that is written and read is the same")
    func roundTrip() throws {
        var state = state([1: Settled(through: 4, and: [6...7]), 2: Settled(through: 9)])
        let changes: [LogChange] = [
            .requested(.deadLetter(deadLetter(5))), .requested(.deadLetter(deadLetter(6, dispatcher: 2))),
            .requested(.keep("name", [1, 2])), .requested(.trim(through: 4)),
            .damaged(LogPosition(segment: 3, offset: 64), lost: [1: Tally(events: 1, bytes: 20)]),
        ]
        state.apply(changes, in: LogPosition(segment: 3, offset: 640))
        var extras = LogExtras()
        extras.recentIDs = RecentIDs(lastSequenceNumber: 9, receivedStamp: 44, count: 2, bytes: [1, 2, 3])
        state.apply(span)
        state.apply(extras)
        state.segments = [
            LogSegmentEntry(
                number: 3, file: LogFile(number: 1, size: 4_096), summary: 900, end: 1_000,
                events: LogEvents(first: 5, last: 9))
        ]
        var writer = LogWriter()
        writer.put(state)
        let read = try writer.bytes.withRawBytes { (bytes) throws(LogReader.Unsound) in
            var reader = LogReader(bytes)
            return try reader.take(LogState.self)
        }
        var again = LogWriter()
        again.put(read)
        #expect(again.bytes == writer.bytes)
        #expect(read.deadLetters == state.deadLetters && read.dispatchers == state.dispatchers)
        #expect(read.segments == state.segments && read.damaged == state.damaged)
        #expect(read.lastSequenceNumber == 9)
    }

    @Test("R2: a rewind makes events unsettled for its dispatcher alone")
    func rewindOfOne() {
        var state = state([1: Settled(through: 0), 2: Settled(through: 2, and: [12...14])])
        state.trimmedThrough = 9
        state.apply([.rewound(1, Settled(through: 5))], in: LogPosition(segment: 1, offset: 64))
        #expect(state.trimmedThrough == 5)
        #expect(state.dispatchers[1].map { state.settled(of: $0) } == Settled(through: 5))
        #expect(state.dispatchers[2].map { state.settled(of: $0) } == Settled(through: 9, and: [12...14]))
    }

    @Test("Q8: a number that no log can reach is damage, wherever it is", arguments: [Int64.max, .min, -1])
    func impossibleNumbers(_ number: Int64) throws {
        let changes: [LogChange] = [
            .requested(.trim(through: number)), .requested(.forgetIDs(through: number)),
            .requested(.deadLetter(deadLetter(number))),
            .requested(.settled(1, Settled(through: number))),
        ]
        for change in changes {
            var writer = LogWriter()
            change.write(to: &writer)
            #expect(throws: LogReader.Unsound.self) {
                try writer.bytes.withRawBytes { (bytes) throws(LogReader.Unsound) in
                    var reader = LogReader(bytes)
                    _ = try reader.take(LogChange.self)
                }
            }
        }
    }

    @Test("Q8: a state with a number that no log can reach is invalid")
    func impossibleState() throws {
        let far = SequenceNumber.max
        var states = [LogState](repeating: state([1: Settled(through: 4)]), count: 6)
        states[0].lastSequenceNumber = far
        states[1].trimmedThrough = far
        states[2] = state([1: Settled(through: far)])
        states[3].ids = LogIDs(
            recent: [RecentIDs(lastSequenceNumber: far, receivedStamp: 0, count: 1, bytes: [1])])
        states[4].ids.forget(through: far)
        states[5].segments = [
            LogSegmentEntry(
                number: 3, file: LogFile(number: 1, size: 4_096), summary: 0, end: 1_000,
                events: LogEvents(first: 5, last: far))
        ]
        for state in states {
            var writer = LogWriter()
            writer.put(state)
            #expect(throws: LogReader.Unsound.self) {
                try writer.bytes.withRawBytes { (bytes) throws(LogReader.Unsound) in
                    var reader = LogReader(bytes)
                    _ = try reader.take(LogState.self)
                }
            }
        }
    }

    @Test("P1: a group's initial state is stored with it, and does not move known dispatchers")
    func initialState() {
        var state = state([1: Settled(through: 4), 2: Settled(through: 4)])
        state.dispatchers[1]?.orphanedSince = 3
        var extras = LogExtras()
        extras.initialState.dispatchers = [
            StoredDispatcher(number: 1, id: "d1", settled: Settled(through: 0)),
            StoredDispatcher(number: 3, id: "d3", settled: Settled(through: 2), orphanedSince: 6),
        ]
        state.apply(span)
        state.apply(extras)
        #expect((1...3).map { state.dispatchers[$0]?.position } == [4, 4, 2])
        #expect((1...3).map { state.dispatchers[$0]?.orphanedSince } == [nil, nil, 6])
    }

    @Test("Q11: a truncated state is not read as a state")
    func cut() {
        var writer = LogWriter()
        writer.put(state([1: Settled(through: 4)]))
        for count in 0..<writer.bytes.count {
            let state = Array(writer.bytes[..<count]).withRawBytes { bytes in
                var reader = LogReader(bytes)
                return try? reader.take(LogState.self)
            }
            #expect(state == nil, "\(count)")
        }
    }

    @Test("Q10: events of a route are needed until all its dispatchers have settled them")
    func needed() {
        #expect(state([1: Settled(through: 9), 2: Settled(through: 4)]).needed.bytes(of: span) == 60 + 3 * 48)
        #expect(state([1: Settled(through: 4, and: [5...9]), 2: Settled(through: 9)]).needed.bytes(of: span) == 0)
        #expect(state([1: Settled(through: 4, and: [5...8]), 2: Settled(through: 9)]).needed.bytes(of: span) > 0)
        #expect(state([:]).needed.bytes(of: span) == 0)
        var trimmed = state([1: Settled(through: 0), 2: Settled(through: 0)])
        trimmed.trimmedThrough = 9
        #expect(trimmed.needed.bytes(of: span) == 0)
    }

    @Test("D10: dead letters stay within their bounds, the oldest are deleted, and no number is reused")
    func deadLetters() {
        var index = DeadLetterIndex()
        for number in 1...5 {
            index.add(
                deadLetter(SequenceNumber(number)),
                at: DeadLetterPosition(frame: LogPosition(segment: 1, offset: 64), index: number))
        }
        #expect(index.limit(to: DeadLetterLimits(count: 3, bytes: 1_000)) == [1: 2])
        #expect(index.entries.map(\.number) == [3, 4, 5])
        index.add(
            deadLetter(6, bytes: 995), at: DeadLetterPosition(frame: LogPosition(segment: 1, offset: 64), index: 6))
        #expect(index.limit(to: DeadLetterLimits(count: 3, bytes: 1_000)) == [1: 3])
        #expect(index.entries.map(\.number) == [6] && index.bytes == 995)
        index.remove { _ in true }
        #expect(index.newest == 6 && index.bytes == 0)
    }
}
