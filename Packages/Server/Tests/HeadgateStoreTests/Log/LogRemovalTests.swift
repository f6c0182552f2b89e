import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("A log whose files are removed while it writes")
struct LogRemovalTests {
    let scene = StoreScene()
    private let renewals = Renewals()

    private final class Renewals {
        var lost: [Int] = []
    }

    private var log: String { scene.directory + "/log" }

    /// Appends events 1 to 90 in segments of 8 KiB, all unsettled.
    private func fill() throws {
        (scene.options.segmentSize, scene.options.blockSize) = (8 << 10, 1 << 10)
        try scene.open()
        scene.store.onRenewal = { [renewals] in renewals.lost.append($0) }
        scene.write(.dispatcher(.at(0)))
        for first in stride(from: SequenceNumber(1), to: 90, by: 3) {
            scene.append(Groups.of(first...first + 2, size: 200, newRoutes: first == 1 ? [1: [1]] : [:]))
        }
    }

    /// Returns the path of the file with the newest segment.
    private func newestFile() throws -> String {
        let names = try FileManager.default.contentsOfDirectory(atPath: log).filter { $0.hasSuffix(".log") }
        let written = try names.map { name in
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(log)/\(name)")
            return (name: name, number: try number(of: "\(log)/\(name)"), size: attributes[.size] as? Int ?? 0)
        }
        return "\(log)/\(try #require(written.max { $0.number < $1.number }).name)"
    }

    /// Returns the number of the segment in a file, or 0 if the file has no active segment.
    private func number(of file: String) throws -> UInt64 {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        guard case .header(let header) = Array(bytes.prefix(64)).withUnsafeBytes(LogHeader.read) else { return 0 }
        return header.use == .active ? header.number : 0
    }

    @Test(
        "Q8: a log whose directory is removed continues with a new one, keeps all but the events, and counts the loss"
    )
    func directory() throws {
        try fill()
        try FileManager.default.removeItem(atPath: log)
        #expect(scene.append(Groups.of(91...93, size: 200)) == nil)
        #expect(try scene.numbers() == [91, 92, 93])
        scene.write()
        #expect(renewals.lost == [90])
        let state = try scene.reopen()
        #expect(state.lastSequenceNumber == 93)
        #expect(state.routes == [1: [1]])
        #expect(state.unsettled[1]?[1]?.events == 3)
        #expect(try scene.numbers() == [91, 92, 93])
    }

    @Test(
        "Q8, Q9: if the data directory is renamed, the daemon creates a new one and locks it against other daemons"
    )
    func dataDirectory() throws {
        try fill()
        let elsewhere = scene.directory + "-elsewhere"
        defer { try? FileManager.default.removeItem(atPath: elsewhere) }
        try FileManager.default.moveItem(atPath: scene.directory, toPath: elsewhere)
        #expect(scene.append(Groups.of(91...93, size: 200)) == nil)
        #expect(throws: StoreFault.self) { try DataDirectory(scene.directory) }
        scene.close()
        #expect(try scene.open().lastSequenceNumber == 93)
    }

    @Test("Q9: if another daemon's directory replaces its own, a daemon writes nothing there")
    func replaced() throws {
        try fill()
        let elsewhere = scene.directory + "-elsewhere"
        defer { try? FileManager.default.removeItem(atPath: elsewhere) }
        try FileManager.default.moveItem(atPath: scene.directory, toPath: elsewhere)
        let second = StoreScene()
        second.options.directory = scene.directory
        try second.open()
        second.write(.dispatcher(.at(0)))
        #expect(second.append(Groups.of(1...1, newRoutes: [1: [1]])) == nil)
        for _ in 1...3 { #expect(scene.append(Groups.of(91...93, size: 200)) != nil) }
        #expect(second.append(Groups.of(2...2)) == nil)
        second.close()
        // The other daemon's events are still there.
        for _ in 1...2 { #expect(scene.append(Groups.of(94...96, size: 200)) != nil) }
        #expect(renewals.lost.isEmpty)
        scene.close()
        #expect(try second.open().lastSequenceNumber == 2)
        #expect(try second.numbers() == [1, 2])
        second.close()
    }

    @Test("Q8: files that are removed while a sync fails are created again with all state but the events")
    func removedBehindAFailedSync() throws {
        let disk = FaultyDisk()
        scene.options.disk = disk
        try fill()
        disk.failsToSync = true
        #expect(scene.append(Groups.of(91...93, size: 200)) != nil)
        for name in try FileManager.default.contentsOfDirectory(atPath: log) {
            try FileManager.default.removeItem(atPath: "\(log)/\(name)")
        }
        disk.failsToSync = false
        #expect(scene.append(Groups.of(94...96, size: 200)) == nil)
        scene.write()
        #expect(renewals.lost == [90])
        let state = try scene.reopen()
        #expect(state.routes == [1: [1]] && state.dispatchers.map(\.number) == [1])
        #expect(try scene.numbers() == [94, 95, 96])
    }

    @Test("P1: events are refused while no new log can be created, and accepted once one can")
    func noRoom() throws {
        try fill()
        try FileManager.default.removeItem(atPath: log)
        try Data().write(to: URL(fileURLWithPath: log))
        for _ in 1...2 { #expect(scene.append(Groups.of(91...93, size: 200)) != nil) }
        try FileManager.default.removeItem(atPath: log)
        #expect(scene.append(Groups.of(94...96, size: 200)) == nil)
        #expect(try scene.reopen().lastSequenceNumber == 96)
        #expect(try scene.numbers() == [94, 95, 96])
    }

    @Test("Q8: if only the active file is removed, the older segments are kept")
    func newest() throws {
        try fill()
        try FileManager.default.removeItem(atPath: newestFile())
        #expect(scene.append(Groups.of(91...93, size: 200)) == nil)
        let left = try scene.numbers()
        #expect(left.first == 1 && left.suffix(3) == [91, 92, 93] && left.count > 30)
        scene.write()
        // Reads count missing events as quarantined. The new segment reports the other missing events.
        #expect(renewals.lost.reduce(scene.quarantined, +) == 93 - left.count)
        _ = try scene.reopen()
        #expect(try scene.numbers() == left)
    }

    @Test(
        "Q8: a removed file of pending events delays no dispatcher: readers skip it, and the loss is counted"
    )
    func older() throws {
        try fill()
        let newest = try newestFile()
        for name in try FileManager.default.contentsOfDirectory(atPath: log) where !newest.hasSuffix(name) {
            try FileManager.default.removeItem(atPath: "\(log)/\(name)")
        }
        let left = try scene.numbers()
        #expect(left.last == 90 && left.count < 60)
        scene.write()
        // Reads count missing events as quarantined. The new segment reports the missing events that were not read.
        #expect(renewals.lost.reduce(scene.quarantined, +) == 90 - left.count)
        #expect(scene.append(Groups.of(91...93, size: 200)) == nil)
        #expect(try scene.numbers() == left + [91, 92, 93])
    }
}
