import Foundation
import HeadgateEncryption
import HeadgateSeeds
import HeadgateTransport
import Testing

@testable import HeadgateCommands

/// Tests a spool with encrypted records.
@Suite struct EncryptedSpoolTests {
    private final class Stage {
        let folder: String
        let path: String
        let pipe: (reading: OwnedDescriptor, writing: OwnedDescriptor)
        private let printed = Guarded("")

        init() throws {
            folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            path = folder + "/lines"
            pipe = try OwnedDescriptor.pipe()
            _ = fcntl(pipe.reading.number, F_SETFL, O_NONBLOCK)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        /// The text that was printed so far.
        var errors: String { printed.withLock { $0 } }

        static func keyring(_ numbers: Int...) throws -> Keyring {
            let lines = numbers.map { "\($0) " + String(repeating: "0\($0)", count: 32) + "\n" }
            return Keyring(try EncryptionKeys(lines.joined()), encrypts: true)
        }

        func open(_ keyring: Keyring? = nil) throws -> EncryptedSpool {
            let terminal = Terminal(
                input: 0, showsProgress: false, style: Style(isColoured: false), output: { _ in },
                errors: { [printed] text in printed.withLock { $0 += text } })
            return try EncryptedSpool(path, try keyring ?? Stage.keyring(1), terminal)
        }

        func write(_ text: String) {
            #expect(Glibc.write(pipe.writing.number, text, text.utf8.count) == text.utf8.count)
        }

        /// Moves a text to a spool, as one record.
        func move(_ text: String, to spool: inout EncryptedSpool, isRest: Bool = false) {
            write(text)
            #expect(spool.take(1 << 20, isRest: isRest, from: pipe.reading.number) == nil)
        }

        /// The bytes that are in the pipe. They are taken out of it.
        func rest() -> String {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = max(0, read(pipe.reading.number, &buffer, buffer.count))
            return String(decoding: buffer[..<count], as: UTF8.self)
        }

        var file: [UInt8] {
            get { FileManager.default.contents(atPath: path).map { [UInt8]($0) } ?? [] }
            set { try? Data(newValue).write(to: URL(filePath: path)) }
        }
    }

    private func text(of spool: inout EncryptedSpool, from offset: Int = 0, upTo most: Int = 1 << 20) throws -> String {
        String(decoding: try spool.bytes(at: offset, upTo: most), as: UTF8.self)
    }

    @Test("C4: the bytes of the pipe are read as they were written, from any offset, also after a start")
    func reads() throws {
        let stage = try Stage()
        var spool = try stage.open()
        for line in ["one\n", "two\nthr", "ee\n"] { stage.move(line, to: &spool) }
        #expect(stage.rest().isEmpty)
        let whole = "one\ntwo\nthree\n"
        for _ in 0..<2 {
            #expect(spool.length == whole.utf8.count && spool.lastByte == UInt8(ascii: "\n"))
            for offset in 0...whole.utf8.count {
                for most in [1, 3, 100] {
                    let expected = String(whole.dropFirst(offset).prefix(most))
                    #expect(try text(of: &spool, from: offset, upTo: most) == expected)
                }
            }
            spool = try stage.open()
        }
        #expect(Data(stage.file).range(of: Data("one".utf8)) == nil)
        #expect(stage.errors.isEmpty)
    }

    @Test("C4: a file that ends anywhere in a record has the records before it")
    func torn() throws {
        let stage = try Stage()
        var spool = try stage.open()
        var ends = [0]
        for line in ["one\n", "two\n"] {
            stage.move(line, to: &spool)
            ends.append(spool.size)
        }
        let file = stage.file
        for length in file.indices {
            stage.file = Array(file[..<length])
            var found = try stage.open()
            #expect(try text(of: &found) == (length < ends[1] ? "" : "one\n"))
            // What follows is written over the incomplete record.
            stage.move("three\n", to: &found)
            found = try stage.open()
            #expect(try text(of: &found) == (length < ends[1] ? "three\n" : "one\nthree\n"))
        }
        #expect(stage.errors.contains("is incomplete"))
    }

    @Test("C4: a changed or moved record is damage, which is reported; the other records are read")
    func damage() throws {
        let stage = try Stage()
        var spool = try stage.open()
        for line in ["one\n", "two\n", "six\n"] { stage.move(line, to: &spool) }
        let (file, size) = (stage.file, spool.size / 3)
        for index in size..<2 * size {
            var changed = file
            changed[index] ^= 0x80
            stage.file = changed
            // The name of a key may be that of a key which is missing.
            guard !(size + 14..<size + 20).contains(index) else {
                #expect(throws: FollowFault.self) { try stage.open() }
                continue
            }
            var found = try stage.open()
            // A record without a sound beginning has no known end.
            let isEndKnown = index >= size + 14
            #expect(try text(of: &found) == (isEndKnown ? "one\n\n\n\n\nsix\n" : "one\n"), "byte \(index)")
        }
        stage.file = Array(file[..<size]) + file[(2 * size)...] + file[size..<2 * size]
        var moved = try stage.open()
        #expect(try text(of: &moved) == "one\n" + String(repeating: "\n", count: 8))
        let reports = stage.errors.components(separatedBy: "4 bytes cannot be decrypted").count
        _ = try text(of: &moved)
        #expect(stage.errors.components(separatedBy: "4 bytes cannot be decrypted").count == reports)
    }

    @Test("C4: a full spool takes the rest of a line, and leaves the next line in the pipe")
    func rest() throws {
        let stage = try Stage()
        var spool = try stage.open()
        stage.move("one\ntw", to: &spool)
        stage.move("o\nthree\n", to: &spool, isRest: true)
        #expect(try text(of: &spool) == "one\ntwo\n")
        #expect(stage.rest() == "three\n")
    }

    @Test("C4: the first key encrypts, the others decrypt, and a spool with an old key is outdated until it is emptied")
    func keys() throws {
        let stage = try Stage()
        var spool = try stage.open()
        stage.move("one\n", to: &spool)
        #expect(throws: FollowFault.self) { try stage.open(try Stage.keyring(2)) }
        spool = try stage.open(try Stage.keyring(2, 1))
        #expect(spool.isOutdated)
        stage.move("two\n", to: &spool)
        #expect(try text(of: &spool) == "one\ntwo\n")
        #expect(spool.empty() && !spool.isOutdated && spool.length == 0)
        stage.move("three\n", to: &spool)
        spool = try stage.open(try Stage.keyring(2))
        #expect(try text(of: &spool) == "three\n" && !spool.isOutdated)
    }

    @Test("C4: over random histories, bytes are in the pipe or in the spool, in order", arguments: Seeds.first(50))
    func histories(seed: Seed) throws {
        var random = SeededRandom(seed: seed)
        let stage = try Stage()
        /// The number of the key that encrypts.
        var key = 1
        var spool = try stage.open()
        /// The bytes of the spool by record, and the bytes of the pipe.
        var (records, waiting) = ([String](), "")
        var next = 0
        for _ in 0..<60 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1, 2:
                next += 1
                let characters = (0..<Int.random(in: 1...40, using: &random)).map { _ in
                    random.oneIn(9) ? "\n" : "\(next % 10)"
                }
                stage.write(characters.joined())
                waiting += characters.joined()
            case 3, 4, 5:
                let (most, isRest) = (Int.random(in: 1...60, using: &random), random.oneIn(4))
                let fault = spool.take(most, isRest: isRest, from: stage.pipe.reading.number)
                #expect(fault == nil)
                let line = waiting.firstIndex(of: "\n").map { waiting.distance(from: waiting.startIndex, to: $0) + 1 }
                let taken = waiting.prefix(isRest ? line ?? waiting.count : most)
                if !taken.isEmpty { records.append(String(taken)) }
                waiting.removeFirst(taken.count)
            case 6:
                // A power failure or a kill while the last record was written.
                if random.oneIn(2), let last = records.last {
                    let length = last.utf8.count + SealedFile.overhead + 4
                    stage.file = Array(stage.file.dropLast(Int.random(in: 1...length, using: &random)))
                    records.removeLast()
                }
                if random.oneIn(3) { key = key % 3 + 1 }
                spool = try stage.open(try Stage.keyring(key, key % 3 + 1, (key + 1) % 3 + 1))
            default:
                guard random.oneIn(3) else { continue }
                let isEmptied = spool.empty()
                #expect(isEmptied)
                records = []
            }
            let whole = records.joined()
            #expect(spool.length == whole.utf8.count)
            #expect(spool.lastByte == whole.utf8.last)
            let offset = Int.random(in: 0...whole.utf8.count, using: &random)
            let most = Int.random(in: 1...100, using: &random)
            #expect(try text(of: &spool, from: offset, upTo: most) == String(whole.dropFirst(offset).prefix(most)))
        }
        #expect(stage.rest() == waiting)
    }
}
