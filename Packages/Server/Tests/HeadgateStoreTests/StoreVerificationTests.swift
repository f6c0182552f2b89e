import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("Event store on disk: verification")
struct StoreVerificationTests {
    let scene = StoreScene()

    /// Stores three groups that the dispatcher has not settled, and a dead letter. Then closes the store.
    private func fill() throws {
        try scene.open()
        scene.append(Groups.of(1...3, newRoutes: [1: [1]]))
        scene.write(.dispatcher(.at(0)), .deadLetter(.sample(1, record: Groups.of(1...1).chunk.bytes)))
        scene.append(Groups.of(4...5))
        scene.append(Groups.of(6...9))
        scene.close()
    }

    private func verify() throws -> (lines: [String], isSound: Bool) {
        let report = try StoreVerification(directory: scene.directory).run()
        return (report.lines(scene.directory), report.isSound)
    }

    /// Returns the content of each file in the directory, by name.
    private func content() throws -> [String: Data] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: scene.directory)
        return names.reduce(into: [:]) { $0[$1] = FileManager.default.contents(atPath: scene.directory + "/" + $1) }
    }

    @Test("Q8: verification reports the content of a directory, and changes none of it")
    func sound() throws {
        try fill()
        let before = try content()
        let (lines, isSound) = try verify()
        #expect(isSound && lines.last == "no damage found")
        #expect(lines[0].hasPrefix("\(scene.directory): an event store of kind log, "))
        #expect(lines[1] == "events: 9, last sequence number 9")
        #expect(lines[2].hasPrefix("  collect: 9 pending, ") && lines.contains("dead letters: 1"))
        #expect(try content() == before)
    }

    @Test("Q8: verification reports the damage, and changes none of it")
    func damaged() throws {
        try fill()
        let path = scene.directory + "/log/000001.log"
        var bytes = try #require(FileManager.default.contents(atPath: path))
        let index = try #require(bytes.range(of: Data("event-5".utf8)))
        bytes[index.lowerBound + 6] = UInt8(ascii: "8")
        try bytes.write(to: URL(fileURLWithPath: path))
        let before = try content()
        let (lines, isSound) = try verify()
        #expect(!isSound && lines[1] == "events: 7, last sequence number 9")
        #expect(lines.contains { $0.hasPrefix("damaged: ") }, "\(lines)")
        #expect(try content() == before)
    }

    @Test("Q9: a store in use is not verified")
    func refused() throws {
        try scene.open()
        #expect(throws: StoreFault.inUse("\(scene.directory) is used by another headgated (pid \(getpid()))")) {
            try verify()
        }
        scene.close()
    }
}
