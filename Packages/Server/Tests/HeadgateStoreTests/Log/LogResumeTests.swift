import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

/// Tests starts that continue in the last segment after an orderly stop (decision 55).
@Suite("A log that continues after a restart")
final class LogResumeTests {
    private var options = StoreOptions(directory: NSTemporaryDirectory() + "/headgate-resume-" + UUID().uuidString)

    private let disk = FaultyDisk()

    init() {
        (options.segmentSize, options.disk) = (64 << 10, disk)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: options.directory)
    }

    /// The segment files of the log, the oldest first, without files of zeros that are prepared for the next segments.
    private var files: [URL] {
        get throws {
            let names = try FileManager.default.contentsOfDirectory(atPath: options.logDirectory).sorted()
            let files = names.filter { $0.hasSuffix(".log") }.map {
                URL(fileURLWithPath: options.logDirectory + "/" + $0)
            }
            return try files.filter { try Data(contentsOf: $0).contains { $0 != 0 } }
        }
    }

    /// Opens the store, and runs `body` with its engine.
    /// - Returns: the state that the store had when it was opened.
    @discardableResult
    private func life(_ body: (LogEngine) throws -> Void) throws -> StoredState {
        let opened = try options.open()
        try body(opened.engine)
        return opened.state
    }

    private func stop(_ engine: LogEngine) { engine.finish() }

    private func keep(_ name: String, _ value: UInt8, _ engine: LogEngine) throws {
        _ = try engine.commit([.write([.keep(name, [value])])]).get()
    }

    @Test("Q8: changes that a start has not found stay lost, even if the next start rewrites the bytes before them")
    func nothingComesBack() throws {
        try life { engine in
            try keep("place", 1, engine)
            stop(engine)
        }
        let file = try #require(files.last)
        var bytes = Data()
        try life { engine in
            let before = try Data(contentsOf: file)
            try keep("place", 2, engine)
            let after = try Data(contentsOf: file)
            try keep("lost", 3, engine)
            // Simulates a power failure that loses the first write, and keeps the later one.
            bytes = try Data(contentsOf: file)
            for index in after.indices where after[index] != before[index] { bytes[index] = before[index] }
        }
        try bytes.write(to: file)
        let then = try life { engine in try keep("place", 2, engine) }
        #expect(then.kept == ["place": [1]])
        let later = try life { _ in }
        #expect(later.kept == ["place": [2]])
    }

    @Test(
        "Q1: a start revokes the mark of an orderly stop at once, and syncs this write",
        arguments: [false, true])
    func takenBackAtOnce(wasKilledBefore: Bool) throws {
        // After a kill, the start rewrites the frames and adds a restart marker.
        if wasKilledBefore { try life { engine in try keep("place", 1, engine) } }
        try life(stop)
        let file = try #require(files.last)
        let closed = try Data(contentsOf: file)
        try life { _ in
            let resumed = try Data(contentsOf: file)
            #expect(resumed != closed)
        }
        try closed.write(to: file)
        disk.failsToSync = true
        #expect(throws: StoreFault.self) { try life { _ in } }
    }

    @Test("Q10: stops and starts do not make the log longer", arguments: [false, true])
    func noLonger(wasKilledBefore: Bool) throws {
        // After a kill, the frame before the closing frame is a restart marker.
        if wasKilledBefore { try life { engine in try keep("place", 1, engine) } }
        try life(stop)
        let file = try #require(files.last)
        let closed = try Data(contentsOf: file)
        for _ in 0..<5 {
            try life(stop)
            #expect(try Data(contentsOf: file) == closed)
        }
    }

    @Test(
        "Q8: a start removes a file that reads as unused, because on the disk it may be the newest segment"
    )
    func removals() throws {
        try life(stop)
        let file = URL(fileURLWithPath: options.logDirectory + "/000099.log")
        try Data(repeating: 0, count: 4_096).write(to: file)
        try life { _ in
            #expect(!FileManager.default.fileExists(atPath: file.path))
            #expect(!disk.hasUncertainRemovals)
        }
    }
}
