import Foundation
import HeadgateCoreTesting
import Testing

@testable import HeadgateCore
@testable import HeadgateStore

/// Tests that erased events are neither read nor counted, and that no file keeps their bytes. The segments are small.
@Suite struct LogErasureTests {
    let scene = StoreScene()

    private static let count: SequenceNumber = 300
    private static let erased: [SequenceNumber] = [3, 205, 230, 299]

    /// Opens a log in segments of 16 KiB. Dispatcher 1 has settled most events, and dispatcher 2 a few.
    private func fill() throws {
        (scene.options.segmentSize, scene.options.blockSize) = (16 << 10, 2 << 10)
        (scene.options.leastPacked, scene.options.mostUnfiledIDBytes) = (.max, 1 << 10)
        try scene.open()
        scene.write(.dispatcher(.at(0)), .dispatcher(.at(0, number: 2, id: "archive")))
        for first in stride(from: SequenceNumber(1), through: LogErasureTests.count, by: 3) {
            scene.append(Groups.of(first...first + 2, size: 200, newRoutes: first == 1 ? [1: [1, 2]] : [:]))
        }
        for (number, event) in LogErasureTests.erased.prefix(2).enumerated() {
            let record = Array(#"{"id":"event-\#(event)","n":\#(number)}"#.utf8)
            scene.write(.deadLetter(.sample(event, record: record)))
        }
        scene.write(.deadLetter(.sample(7, record: Array(#"{"id":"event-7"}"#.utf8))))
        scene.write(.settled(1, Settled(through: 250)), .settled(2, Settled(through: 200)), .trim(through: 200))
        for _ in 1...20 { scene.write() }
        let damaged = scene.directory + "/log/damaged"
        try FileManager.default.createDirectory(atPath: damaged, withIntermediateDirectories: true)
        for path in [damaged + "/5-64", scene.directory + "/log/000077.log.damaged"] {
            try Data(#""event-230""#.utf8).write(to: URL(fileURLWithPath: path))
        }
    }

    private func erase() throws {
        let result: Result<Void, StoreFault> = scene.answer {
            scene.store.erase(LogErasureTests.erased, [1, 2], then: $0)
        }
        try result.get()
    }

    /// Performs at most this many steps of removing erased bytes.
    /// - Returns: true if the removal is complete.
    private func remove(_ most: Int = .max) throws -> Bool {
        var steps = 0
        while steps < most {
            steps += 1
            if try scene.answer({ scene.store.removeErasedBytes(then: $0) }).get() { return true }
        }
        return false
    }

    /// Returns the files below the data directory that have the id of an erased event.
    private func findings() throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: scene.directory)
        return names.filter { name in
            guard let content = FileManager.default.contents(atPath: scene.directory + "/" + name) else { return false }
            return LogErasureTests.erased.contains { content.range(of: Data(#""event-\#($0)""#.utf8)) != nil }
        }
    }

    private func expectRest(_ state: StoredState) throws {
        let rest = Array(201...LogErasureTests.count).filter { !LogErasureTests.erased.contains($0) }
        #expect(try scene.numbers(after: 200) == rest)
        #expect(state.unsettled[2]?.total.events == rest.count)
        #expect(state.unsettled[1]?.total.events == rest.filter { $0 > 250 }.count)
        #expect(state.deadLetterTally.events == 1)
    }

    @Test("E1: no file below the data directory has bytes of erased events, and everything else stays")
    func bytes() throws {
        try fill()
        #expect(try !findings().isEmpty)
        try erase()
        #expect(try scene.numbers(after: 200).contains(230) == false)
        #expect(try remove())
        #expect(try findings() == [])
        scene.append(Groups.of(301...303))
        #expect(try findings() == [])
        let state = try scene.reopen()
        #expect(!state.isErasing && state.warnings.isEmpty)
        #expect(try scene.numbers(after: 300) == [301, 302, 303])
    }

    @Test("E2: an erasure searches a few events at a time, because commits wait for it, and finds each needed event")
    func smallSteps() throws {
        try fill()
        // A large group is searched in several steps.
        scene.append(Groups.of(301...360, size: 200))
        var scan = ErasureScan(ErasureRule(.and([])), through: 360, part: ErasureScan.Part())
        while !scan.isOver {
            let next: ErasureScan = try scene.answer { scene.store.scan(scan, then: $0) }.get()
            #expect(next.found.count <= scan.found.count + 3)
            scan = next
        }
        #expect(scan.count == 160 && scan.found.map(\.sequenceNumber).suffix(160) == Array(201...360))
    }

    @Test("E1: no removed file, whole or set aside, can reappear after a power failure")
    func certainRemovals() throws {
        let disk = FaultyDisk()
        scene.options.disk = disk
        try fill()
        try erase()
        #expect(try remove())
        #expect(!disk.hasUncertainRemovals)
    }

    @Test("E1: an erasure that is written takes effect, even if its sync fails")
    func failedSync() throws {
        let disk = FaultyDisk()
        scene.options.disk = disk
        try fill()
        disk.failsToSync = true
        try erase()
        disk.failsToSync = false
        #expect(try scene.numbers(after: 200).contains(230) == false)
        #expect(try remove())
        #expect(try findings() == [])
    }

    @Test("E1: a file that cannot be removed is overwritten")
    func unremovableFiles() throws {
        let disk = FaultyDisk()
        scene.options.disk = disk
        try fill()
        for name in ["damaged", "000077.log.damaged"] {
            try FileManager.default.removeItem(atPath: "\(scene.directory)/log/\(name)")
        }
        disk.failsToRemove = true
        try erase()
        #expect(try remove())
        #expect(try findings() == [])
    }

    @Test(
        "E2: after a stop at any step, a recorded erasure is finished", arguments: [0, 1, 2, 4, 7, 11, 16, 22])
    func stopped(steps: Int) throws {
        try fill()
        try erase()
        let isDone = try remove(steps)
        let state = try scene.reopen()
        #expect(state.isErasing == !isDone && state.warnings.isEmpty)
        try expectRest(state)
        if !isDone { #expect(try remove()) }
        #expect(try findings() == [])
        try expectRest(try scene.reopen())
    }

    @Test("E1: events that are stored during the removal stay")
    func traffic() throws {
        try fill()
        try erase()
        var next = LogErasureTests.count + 1
        while try !remove(1) {
            scene.append(Groups.of(next...next + 2, size: 200))
            next += 3
        }
        #expect(try findings() == [])
        #expect(try scene.numbers(after: LogErasureTests.count) == Array(LogErasureTests.count + 1..<next))
        #expect(try scene.reopen().lastSequenceNumber == next - 1)
    }

    @Test(
        "E2: files of segments that began during the removal are reused, so that clients do not wait for their removal")
    func reusedFiles() throws {
        let disk = FaultyDisk()
        scene.options.disk = disk
        try fill()
        try erase()
        #expect(try !remove(1))
        let present = Set(try disk.list(scene.directory + "/log").map { scene.directory + "/log/" + $0 })
        let start = disk.removed.count
        var next = LogErasureTests.count + 1
        for _ in 1...300 {
            scene.append(Groups.of(next...next + 2, size: 200))
            next += 3
            let settled = Settled(through: next - 1)
            scene.write(.settled(1, settled), .settled(2, settled), .trim(through: next - 1))
        }
        #expect(disk.removed[start...].filter { !present.contains($0) } == [])
        #expect(try remove())
        #expect(try findings() == [])
    }

    /// Opens a log with retained events alone.
    private func retain() throws {
        (scene.options.segmentSize, scene.options.blockSize, scene.options.leastPacked) = (16 << 10, 2 << 10, .max)
        try scene.open()
        scene.write(.retain(Retention()), .dispatcher(.at(0)))
        for first in stride(from: SequenceNumber(1), through: 300, by: 3) {
            scene.append(Groups.of(first...first + 2, size: 200, newRoutes: first == 1 ? [1: [1]] : [:]))
        }
        scene.write(.settled(1, Settled(through: 300)), .trim(through: 300))
    }

    @Test("E1, R1: erased events no longer count as retained")
    func notRetained() throws {
        try retain()
        try erase()
        #expect(try remove() && scene.store.retained.tally.events == 296)
    }

    @Test("E1: retained events are erased as well, and a rewind does not find them")
    func retained() throws {
        try retain()
        try erase()
        let rewound = try scene.answer { scene.store.rewind(RewindRequest(1, to: .sequenceNumber(1)), then: $0) }.get()
        guard case .rewound(let queue) = rewound else {
            Issue.record("refused")
            return
        }
        #expect(queue.unsettled.total.events == 296)
        #expect(try remove())
        #expect(try findings() == [])
        #expect(try scene.reopen().unsettled[1]?.total.events == 296)
    }
}
