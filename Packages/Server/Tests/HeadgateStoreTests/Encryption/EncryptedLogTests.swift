import Foundation
import HeadgateCore
import HeadgateCoreTesting
import HeadgateEncryption
import Testing

@testable import HeadgateStore

/// Tests starts of encrypted logs, and the content of their files.
@Suite("Encrypted logs") struct EncryptedLogTests {
    let scene = StoreScene()

    private var files: StoreFiles { StoreFiles(directory: scene.directory) }

    /// Opens a log in segments of 16 KiB.
    @discardableResult
    private func open(_ keyring: Keyring?) throws -> StoredState {
        (scene.options.segmentSize, scene.options.blockSize) = (16 << 10, 2 << 10)
        (scene.options.leastPacked, scene.options.mostUnfiledIDBytes) = (.max, 1 << 10)
        scene.options.keyring = keyring
        return try scene.open()
    }

    /// Appends 300 events with ids, and a dead letter, over several segments. The first call also writes a dispatcher and a
    /// kept value.
    private func fill(from first: SequenceNumber = 1) {
        if first == 1 { scene.write(.dispatcher(.at(0)), .keep("name", Array("kept secret".utf8))) }
        for number in stride(from: first, to: first + 300, by: 3) {
            let ids = RecentIDs(
                lastSequenceNumber: number + 2, receivedStamp: 1_000, count: 3,
                bytes: Array("id-secret-id-secret-id-secret-id".utf8) + [UInt8](repeating: 7, count: 64))
            scene.append(
                Groups.of(number...number + 2, size: 200, newRoutes: number == 1 ? [1: [1]] : [:], recentIDs: ids))
        }
        scene.write(.deadLetter(.sample(first, record: Array(#"{"id":"event-dead"}"#.utf8))))
    }

    private func deadLetters() throws -> [StoredDeadLetter] {
        try scene.answer { scene.store.readDeadLetters(DeadLetterQuery(limit: 100), then: $0) }.get().deadLetters
    }

    /// Gives the store the turns that it needs to rewrite its files.
    private func idle() { for _ in 0..<400 { scene.write() } }

    private func expectWhole(_ state: StoredState, through last: SequenceNumber = 300) throws {
        #expect(state.warnings.isEmpty && state.notes.isEmpty)
        #expect(try scene.numbers() == Array(1...last))
        #expect(state.kept["name"] == Array("kept secret".utf8))
        #expect(state.recentIDs.reduce(0) { $0 + $1.count } == Int(last))
        #expect(try deadLetters().count == Int(last) / 300)
    }

    private func expectNothingPlain() {
        for text in ["event-", "kept secret", "id-secret", "xxxxxxxx"] {
            #expect(files.files(with: text) == [], "\(text)")
        }
    }

    @Test("C1: no file has events, ids, dead letters or kept values in plain bytes, and a start finds all of them")
    func whole() throws {
        try open(try Keys.ring(1))
        fill()
        expectNothingPlain()
        try expectWhole(try scene.reopen())
        idle()
        expectNothingPlain()
        #expect(Set(files.keys.values) == [1])
    }

    @Test("C2: a start without the key, or with a wrong one, is refused and changes nothing")
    func refused() throws {
        try open(try Keys.ring(2))
        fill()
        scene.close()
        let before = files.all.filter { $0.key != "headgate.lock" }
        let wrong = try EncryptionKeys(Keys.line(5).replacing("5 ", with: "2 "))
        for (keyring, words) in [
            (nil, "there is no key"), (try Keys.ring(1), "is not among the keys"),
            (Keyring(wrong, encrypts: true), "is another key"),
        ] as [(Keyring?, String)] {
            let fault = #expect(throws: StoreFault.self) { try open(keyring) }
            #expect(fault?.message.contains(words) == true, "\(fault?.message ?? "")")
            #expect(files.all.filter { $0.key != "headgate.lock" } == before)
        }
        try expectWhole(try open(try Keys.ring(3, 2)))
    }

    @Test("C2: after encryption is switched on, stored files are encrypted in the background")
    func switchedOn() throws {
        try open(nil)
        fill()
        #expect(!files.files(with: "event-7").isEmpty)
        scene.close()
        try expectWhole(try open(try Keys.ring(1)))
        idle()
        expectNothingPlain()
        fill(from: 301)
        expectNothingPlain()
        try expectWhole(try scene.reopen(), through: 600)
        #expect(Set(files.keys.values) == [1])
    }

    @Test("C2: after encryption is switched off, stored files are decrypted, and the key is no longer needed")
    func switchedOff() throws {
        try open(try Keys.ring(1))
        fill()
        scene.close()
        try expectWhole(try open(try Keys.ring(1, encrypts: false)))
        idle()
        #expect(Set(files.keys.values) == [0])
        scene.close()
        try expectWhole(try open(nil))
    }

    @Test("C2: a new key encrypts the files written from then on, and rekeying rewrites the others")
    func rekeyed() throws {
        try open(try Keys.ring(1))
        fill()
        scene.close()
        try open(try Keys.ring(2, 1))
        idle()
        #expect(Set(files.keys.values).contains(1))
        fill(from: 301)
        #expect(Set(files.keys.values) == [1, 2])
        let fault: StoreFault?? = scene.answer { then in scene.store.rekey(nil) { then(.some($0)) } }
        #expect(fault == .some(nil))
        idle()
        #expect(Set(files.keys.values) == [2])
        scene.close()
        try expectWhole(try open(try Keys.ring(2)), through: 600)
    }

    @Test("C2: a plain file that cannot be removed is overwritten")
    func unremoved() throws {
        let disk = FaultyDisk()
        scene.options.disk = disk
        try open(nil)
        scene.append(Groups.of(1...3, size: 200, newRoutes: [1: [1]]))
        // The directory as a kill would leave it.
        let killed = scene.directory + "-killed"
        try FileManager.default.copyItem(atPath: scene.directory, toPath: killed)
        scene.close()
        try FileManager.default.removeItem(atPath: scene.directory)
        try FileManager.default.moveItem(atPath: killed, toPath: scene.directory)
        disk.failsToRemove = true
        try open(try Keys.ring(1))
        idle()
        #expect(scene.store.encryption?.bytes.keys.sorted() == [1])
        expectNothingPlain()
    }

    @Test("C2: files without needed events, ids and dead letters are removed, and their key is no longer needed")
    func obsolete() throws {
        try open(try Keys.ring(1))
        fill()
        scene.close()
        try open(try Keys.ring(2, 1))
        scene.append(Groups.of(301...303, size: 100))
        scene.write(.settled(1, Settled(through: 300)), .forgetIDs(through: 300), .trim(through: 300))
        let purged = try scene.answer { scene.store.purgeDeadLetters(DeadLetterQuery(limit: 1), then: $0) }.get()
        #expect(purged == 1)
        for _ in 0..<400 where scene.store.encryption?.bytes[1] != nil { scene.write() }
        #expect(scene.store.encryption?.bytes.keys.sorted() == [2])
        #expect(!files.keys.values.contains(1))
        scene.close()
        let state = try open(try Keys.ring(2))
        #expect(state.warnings.isEmpty && state.notes.isEmpty)
        #expect(try scene.numbers(after: 300) == Array(301...303))
        #expect(Set(files.keys.values) == [2])
    }

    @Test("C2: rewriting continues after a stop at any step", arguments: [0, 1, 3, 8, 15, 30, 60])
    func stopped(_ steps: Int) throws {
        try open(nil)
        fill()
        scene.close()
        try open(try Keys.ring(1))
        for _ in 0..<steps { scene.write() }
        try expectWhole(try scene.reopen())
        idle()
        expectNothingPlain()
        try expectWhole(try scene.reopen())
    }

    @Test("C2: rewriting continues after a failed sync at any step", arguments: 0..<100)
    func repaired(_ steps: Int) throws {
        let disk = FaultyDisk()
        scene.options.disk = disk
        try open(nil)
        fill()
        scene.close()
        scene.options.keyring = try Keys.ring(1)
        try withExtendedLifetime(scene.options.open().engine) { engine in
            for _ in 0..<steps where engine.isRekeying { _ = engine.turn([]) { _ in } }
            // After this failure, the next step of the rewriting may have to repair the log.
            disk.syncsUntilFault = 0
            _ = engine.turn([.append(Groups.of(301...303, size: 100))]) { _ in }
            disk.syncsUntilFault = nil
            while engine.hasBackgroundWork { _ = engine.turn([]) { _ in } }
            engine.finish()
        }
        expectNothingPlain()
        let state = try scene.open()
        #expect(state.warnings.isEmpty && state.notes.isEmpty)
        #expect(try scene.numbers().starts(with: 1...300))
        #expect(state.recentIDs.reduce(0) { $0 + $1.count } == 300)
    }

    @Test("C1: no nonce is used twice, across starts, restored snapshots and copies of the directory")
    func nonces() throws {
        // Each process draws its own random bytes.
        var seed: UInt64 = 0
        func process() throws -> Keyring {
            seed += 1
            return try Keys.ring(1, seed: seed)
        }
        try open(try process())
        scene.append(Groups.of(1...3, size: 100, newRoutes: [1: [1]]))
        scene.close()
        let snapshot = scene.directory + "-snapshot"
        try FileManager.default.copyItem(atPath: scene.directory, toPath: snapshot)
        defer { try? FileManager.default.removeItem(atPath: snapshot) }
        var seen: [[UInt8]: Set<[UInt8]>] = [:]
        for round in 1...4 {
            // Each round writes other content at the same offset of the same file.
            try open(try process())
            scene.append(Groups.of(4...6, size: 100 + round))
            scene.close()
            seen.merge(files.nonces) { $0.union($1) }
            try FileManager.default.removeItem(atPath: scene.directory)
            try FileManager.default.copyItem(atPath: snapshot, toPath: scene.directory)
        }
        #expect(seen.count > 10)
        #expect(seen.values.allSatisfy { $0.count == 1 })
    }

    @Test("Q8: a changed byte of an encrypted group is damage, also with correct checksums")
    func damaged() throws {
        try open(try Keys.ring(1))
        fill()
        scene.close()
        let name = try #require(files.keys.keys.sorted().first { $0.hasSuffix(".log") })
        let path = scene.directory + "/" + name
        var bytes = try #require(files.all[name])
        try change(&bytes)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let state = try open(try Keys.ring(1))
        let found = try scene.numbers()
        for _ in 0..<5 { scene.write() }
        #expect(found.count < 300 && found == found.sorted())
        #expect(scene.quarantined > 0 || !state.warnings.isEmpty)
    }

    @Test("C3: without the key, a changed byte in the middle of a copied segment is damage of one frame")
    func verified() throws {
        try open(nil)
        fill()
        scene.close()
        try open(try Keys.ring(1))
        idle()
        scene.close()
        let copy = try #require(
            files.all.first { name, bytes in
                guard case .header(let header) = bytes.withUnsafeBytes(LogHeader.read) else { return false }
                return header.use == .copy && bytes.count > 8 << 10
            })
        var bytes = copy.value
        bytes[bytes.count / 2] ^= 1
        try Data(bytes).write(to: URL(fileURLWithPath: scene.directory + "/" + copy.key))
        let report = try StoreVerification(directory: scene.directory).run()
        let damage = report.lines("log").compactMap { $0.firstMatch(of: /damaged: (\d+) bytes of/)?.output.1 }
        #expect(!report.isSound && damage.count == 1)
        #expect(damage.allSatisfy { (Int($0) ?? .max) < bytes.count / 3 }, "\(damage)")
    }

    /// Changes a byte of the fifth group, and computes its checksums again.
    private func change(_ bytes: inout [UInt8]) throws {
        guard case .header(let header) = bytes.withUnsafeBytes(LogHeader.read) else { return }
        let start = LogPosition(segment: header.number, offset: LogHeader.size)
        let groups = bytes[LogHeader.size...].withUnsafeBytes { bytes in
            SegmentReport(LogScan(bytes, from: start, behind: header.checksum), from: LogHeader.size).frames
                .filter { $0.frame.kind == .group }
        }
        let (frame, offset) = try #require(groups.dropFirst(4).first)
        bytes[offset + LogFrame.headerSize + FrameCipher.prefix + 3] ^= 1
        bytes.withUnsafeMutableBytes { bytes in
            let begin = offset + LogFrame.headerSize
            let content = UnsafeRawBufferPointer(rebasing: bytes[begin..<begin + frame.length])
            LogFrame(
                frame.kind, content, at: LogPosition(segment: header.number, offset: offset), certain: frame.certain,
                previous: frame.previous, isSealed: true
            ).write(to: bytes, at: offset)
        }
    }
}
