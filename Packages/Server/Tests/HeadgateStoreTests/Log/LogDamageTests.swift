import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("A log that is damaged")
struct LogDamageTests {
    let scene = StoreScene()

    /// Appends events 1 to 90 in segments of 8 KiB, all unsettled. Then closes the store.
    private func fill() throws {
        (scene.options.segmentSize, scene.options.blockSize) = (8 << 10, 1 << 10)
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        for first in stride(from: SequenceNumber(1), to: 90, by: 3) {
            scene.append(Groups.of(first...first + 2, size: 200, newRoutes: first == 1 ? [1: [1]] : [:]))
        }
        scene.close()
    }

    private func change(_ file: String, _ body: (inout Data) throws -> Void) throws {
        let url = URL(fileURLWithPath: file)
        var bytes = try Data(contentsOf: url)
        try body(&bytes)
        try bytes.write(to: url)
    }

    /// Returns the paths of the log's files, the oldest segment first.
    private func segments() throws -> [String] {
        let folder = scene.directory + "/log/"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".log") }
        let numbered = names.compactMap { name -> (UInt64, String)? in
            guard let bytes = FileManager.default.contents(atPath: folder + name),
                case .header(let header) = Array(bytes.prefix(64)).withUnsafeBytes(LogHeader.read)
            else { return nil }
            return (header.number, folder + name)
        }
        return numbered.sorted { $0.0 < $1.0 }.map(\.1)
    }

    @Test("Q8: damage of an event loses and counts its group, keeps its bytes, and delays no dispatcher")
    func record() throws {
        try fill()
        let file = try #require(try segments().first)
        try change(file) { bytes in
            let index = try #require(bytes.range(of: Data("event-5\"".utf8)))
            bytes[index.lowerBound + 6] = UInt8(ascii: "6")
        }
        let state = try scene.open()
        #expect(state.lastSequenceNumber == 90 && state.warnings == [])
        #expect(try scene.numbers() == Array(1...3) + Array(7...90))
        scene.write()
        #expect(scene.quarantined == 3)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.directory + "/log/damaged").count == 1)
        #expect(try scene.reopen().unsettled[1]?[1]?.events == 87)
        #expect(try scene.numbers() == Array(1...3) + Array(7...90))
    }

    @Test("Q8: a segment whose header is damaged can be read")
    func header() throws {
        try fill()
        let file = try #require(try segments().first)
        try change(file) { $0.replaceSubrange(0..<64, with: Data(repeating: 0x5A, count: 64)) }
        let state = try scene.open()
        #expect(state.lastSequenceNumber == 90 && state.warnings == [])
        #expect(try scene.numbers() == Array(1...90))
    }

    @Test("Q8: if the newest segment's snapshot is damaged, an older snapshot and later changes replace it")
    func snapshot() throws {
        try fill()
        let file = try #require(try segments().last)
        try change(file) { $0[LogHeader.size + LogFrame.headerSize + 3] ^= 0x40 }
        let state = try scene.open()
        #expect(state.lastSequenceNumber == 90 && state.dispatchers == [.at(0)])
        #expect(try scene.numbers() == Array(1...90))
        #expect(state.warnings.count == 1 && state.warnings[0].contains("damaged"), "\(state.warnings)")
    }

    @Test("Q8: the file of an unreadable newest segment is kept, and no sequence number is reused")
    func newest() throws {
        try fill()
        let file = try #require(try segments().last)
        try change(file) { $0.replaceSubrange(0..<64, with: Data(repeating: 0x5A, count: 64)) }
        let state = try scene.open()
        #expect(state.lastSequenceNumber > 90 && state.warnings.count == 1, "\(state.warnings)")
        #expect(FileManager.default.fileExists(atPath: file + ".damaged"))
        let numbers = try scene.numbers()
        #expect(numbers == Array(1...(try #require(numbers.last))) && numbers.count < 90)
        #expect(try scene.reopen().lastSequenceNumber == state.lastSequenceNumber)
    }

    @Test("Q8, Q7: if a file of ids is missing, the start logs a warning and finds all events")
    func missingIDs() throws {
        (scene.options.segmentSize, scene.options.mostUnfiledIDBytes) = (8 << 10, 256)
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        for number in SequenceNumber(1)...90 {
            let ids = RecentIDs(
                lastSequenceNumber: number, receivedStamp: 1, count: 1, bytes: [UInt8](repeating: 7, count: 32))
            scene.append(Groups.of(number...number, size: 200, newRoutes: number == 1 ? [1: [1]] : [:], recentIDs: ids))
        }
        scene.close()
        let path = try #require(
            segments().first { file in
                let bytes = FileManager.default.contents(atPath: file) ?? Data()
                guard case .header(let header) = Array(bytes.prefix(64)).withUnsafeBytes(LogHeader.read) else {
                    return false
                }
                return header.use == .ids
            })
        try FileManager.default.removeItem(atPath: path)
        let state = try scene.open()
        #expect(state.warnings.count == 1 && state.warnings.first?.contains("no longer exists") == true)
        #expect(try scene.numbers() == Array(1...90))
        #expect(state.recentIDs.reduce(0) { $0 + $1.count } < 90)
    }

    @Test("Q8: a segment whose file was shortened keeps its remaining events, also after later appends")
    func cutOff() throws {
        try fill()
        let file = try #require(try segments().first)
        try change(file) { $0.removeLast($0.count / 2) }
        try scene.open()
        let left = try scene.numbers()
        #expect(left.starts(with: 1...3) && left.count < 90 && left.last == 90)
        for number in 91...180 as ClosedRange<SequenceNumber> { scene.append(Groups.of(number...number, size: 200)) }
        #expect(try scene.numbers() == left + Array(91...180))
        #expect(try scene.reopen().lastSequenceNumber == 180)
        #expect(try scene.numbers() == left + Array(91...180))
    }
}
