import Foundation
import HeadgateSeeds
import Testing

@testable import HeadgateStore

/// Tests the machine's own file system, as a store uses it.
@Suite struct SystemDiskTests {
    /// Runs `body` with a file of `size` bytes without zeros, and with its expected content. Then compares the two.
    private func withFile(size: Int, _ body: (any DiskFile, inout [UInt8]) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.path + "/headgate-disk-\(UUID().uuidString)"
        let file = try SystemDisk().open(path, creating: true)
        defer { try? SystemDisk().remove(path) }
        var model = [UInt8](repeating: 0xEE, count: size)
        try model.withRawBytes { try file.write($0, at: 0) }
        try body(file, &model)
        var found = [UInt8](repeating: 0, count: model.count + 1)
        let count = try found.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        #expect(count == model.count)
        #expect(Array(found.prefix(count)) == model)
    }

    @Test(
        "Q5: appended and written bytes are read back, with all bytes before them",
        arguments: Seeds.first(8))
    func appends(_ seed: Seed) throws {
        var random = SeededRandom(seed: seed)
        try withFile(size: 1 << 20) { file, model in
            var end = 64
            while end < 900_000 {
                let bytes = (0..<Int.random(in: 1...(random.next() % 8 == 0 ? 90_000 : 3_000), using: &random)).map {
                    _ in
                    UInt8.random(in: 1...255, using: &random)
                }
                if random.next() % 4 == 0 {
                    try bytes.withRawBytes { try file.write($0, at: end) }
                } else {
                    try bytes.withRawBytes { try file.append($0, at: end) }
                    // An append may replace the bytes after it by zeros, up to the end of its block.
                    let blockEnd = min((end + bytes.count + 4_095) / 4_096 * 4_096, model.count)
                    var rest = [UInt8](repeating: 0, count: blockEnd - end - bytes.count)
                    _ = try rest.withUnsafeMutableBytes { try file.read(into: $0, at: end + bytes.count) }
                    #expect(rest.allSatisfy { $0 == 0 } || rest.allSatisfy { $0 == 0xEE })
                    model.replaceSubrange(end + bytes.count..<blockEnd, with: rest)
                }
                model.replaceSubrange(end..<end + bytes.count, with: bytes)
                end += bytes.count
            }
        }
    }

    @Test("Q5: a sync ends although the file is written to meanwhile, and no second sync begins before its end")
    func meanwhile() throws {
        try withFile(size: 1 << 20) { file, model in
            #expect(!file.isSyncing)
            try file.endSync()
            #expect(file.beginSync())
            let bytes = [UInt8](repeating: 7, count: 100)
            try bytes.withRawBytes { try file.write($0, at: 50) }
            model.replaceSubrange(50..<150, with: bytes)
            #expect(!file.beginSync())
            while file.isSyncing {}
            try file.endSync()
            #expect(file.beginSync())
            try file.endSync()
            #expect(!file.isSyncing)
        }
    }

    @Test("Q5: a file may be closed during its sync, and another file can be synced then")
    func closedMeanwhile() throws {
        let path = FileManager.default.temporaryDirectory.path + "/headgate-disk-\(UUID().uuidString)"
        let disk = SystemDisk()
        defer { try? disk.remove(path) }
        for _ in 0..<3 {
            let file = try disk.open(path, creating: true)
            #expect(file.beginSync())
        }
    }

    @Test("Q5: a sync of an invalid descriptor does not begin")
    func nothingToSync() throws {
        let sync = BackgroundSync()
        #expect(!sync.begin(-1))
        #expect(!sync.isInProgress(on: -1))
        #expect(throws: Never.self) { try sync.end(on: -1) }
    }

    @Test("Q10: an append near the end of a file does not lengthen the file to a whole block")
    func endWithinABlock() throws {
        try withFile(size: 10_000) { file, model in
            let bytes = [UInt8](repeating: 7, count: 100)
            try bytes.withRawBytes { try file.append($0, at: 9_000) }
            model.replaceSubrange(9_000..<9_100, with: bytes)
        }
    }

    @Test("Q5, Q10: an append to a shrunk file neither lengthens it nor restores the bytes that were cut off")
    func shrunk() throws {
        try withFile(size: 1 << 20) { file, model in
            let bytes = [UInt8](repeating: 7, count: 100)
            try bytes.withRawBytes { try file.append($0, at: 9_000) }
            try file.resize(to: 9_000)
            try file.resize(to: 10_000)
            try bytes.withRawBytes { try file.append($0, at: 9_100) }
            let zeros = [UInt8](repeating: 0, count: 100)
            model.replaceSubrange(9_000..., with: zeros + bytes + zeros + zeros + zeros + zeros + zeros)
            model += [UInt8](repeating: 0, count: 300)
        }
    }

    @Test("X8: a symbolic link is not opened for writing, and its target stays as it was", arguments: [true, false])
    func link(creating: Bool) throws {
        try withFolder { folder in
            try "mine".write(toFile: folder + "/target", atomically: true, encoding: .utf8)
            for (name, target) in [("existing", "/target"), ("missing", "/none")] {
                symlink(folder + target, folder + "/" + name)
                #expect(throws: DiskFault(code: ELOOP)) {
                    try SystemDisk().open(folder + "/" + name, creating: creating)
                }
            }
            #expect(try String(contentsOfFile: folder + "/target", encoding: .utf8) == "mine")
            #expect(!FileManager.default.fileExists(atPath: folder + "/none"))
        }
    }

    @Test("X8: a named pipe, and a file that another user has made, are not opened for writing")
    func foreign() throws {
        try withFolder { folder in
            mkfifo(folder + "/pipe", 0o600)
            #expect(throws: DiskFault(code: EPERM)) { try SystemDisk().open(folder + "/pipe", creating: true) }
            guard geteuid() == 0 else { return }
            try "theirs".write(toFile: folder + "/file", atomically: true, encoding: .utf8)
            chown(folder + "/file", 45_001, 45_001)
            #expect(throws: DiskFault(code: EPERM)) { try SystemDisk().open(folder + "/file", creating: true) }
            #expect(throws: DiskFault(code: EPERM)) { try SystemDisk().open(folder + "/file", creating: false) }
            // Root may work in the data directory of the daemon's user.
            chown(folder, 45_001, 45_001)
            #expect(throws: Never.self) { try SystemDisk().open(folder + "/file", creating: true) }
        }
    }

    @Test("A fault names the limit for the size of files")
    func fileSizeLimit() {
        let fault = DiskFault(code: EFBIG).storeFault("cannot open the log")
        #expect(fault == .failed("cannot open the log: a limit for the size of files (ulimit -f)"))
    }

    private func withFolder(_ test: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/headgate-disk-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try test(folder)
    }
}
