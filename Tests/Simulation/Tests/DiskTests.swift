import Foundation
import HeadgateSeeds
import Testing

@testable import HeadgateServer
@testable import HeadgateStore

/// The machine's disk and the simulated one, which must behave the same unless a call fails.
@Suite("A disk")
struct DiskTests {
    @Test("Q1: bytes are read at their written position, and zeros elsewhere", arguments: Kind.allCases)
    func bytes(_ kind: Kind) throws {
        let scene = try DiskScene(kind)
        let file = try scene.disk.open(scene.path("a"), creating: true)
        try ([1, 2, 3] as [UInt8]).withUnsafeBytes { try file.write($0, at: 5) }
        #expect(try file.size() == 8)
        #expect(try read(file, 10, at: 0) == [0, 0, 0, 0, 0, 1, 2, 3])
        try file.resize(to: 6)
        #expect(try read(file, 10, at: 4) == [0, 1])
        try file.preallocate(9)
        #expect(try read(file, 10, at: 4) == [0, 1, 0, 0, 0])
        try file.preallocate(3)
        #expect(try file.size() == 9)
        try file.sync()
        #expect(try read(file, 10, at: 20) == [])
    }

    @Test("Q1: names are listed, changed and removed", arguments: Kind.allCases)
    func names(_ kind: Kind) throws {
        let scene = try DiskScene(kind)
        for name in ["b", "a", "c"] { _ = try scene.disk.open(scene.path(name), creating: true) }
        try scene.disk.rename(scene.path("b"), to: scene.path("c"))
        try scene.disk.remove(scene.path("a"))
        try scene.disk.syncDirectory(scene.directory)
        #expect(try scene.disk.list(scene.directory) == ["c"])
        #expect(scene.disk.exists(scene.path("c")) && !scene.disk.exists(scene.path("a")))
    }

    @Test("Q1: a missing file is an error with that reason", arguments: Kind.allCases)
    func missing(_ kind: Kind) throws {
        let scene = try DiskScene(kind)
        #expect(fault { _ = try scene.disk.open(scene.path("a"), creating: false) } == ENOENT)
        #expect(fault { try scene.disk.remove(scene.path("a")) } == ENOENT)
        #expect(fault { try scene.disk.rename(scene.path("a"), to: scene.path("b")) } == ENOENT)
    }

    @Test("Q9: a file has one lock holder, until it releases the lock", arguments: Kind.allCases)
    func lock(_ kind: Kind) throws {
        let scene = try DiskScene(kind)
        var holder: (any DiskFile)? = try scene.disk.open(scene.path("a"), creating: true)
        #expect(try holder?.lock() == true)
        let other = try scene.disk.open(scene.path("a"), creating: false)
        #expect(try other.lock() == false)
        holder = nil
        #expect(try other.lock())
    }

    private func read(_ file: any DiskFile, _ count: Int, at offset: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 9, count: count)
        let done = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
        return Array(bytes[..<done])
    }

    private func fault(_ work: () throws -> Void) -> Int32? {
        do { try work() } catch { return (error as? DiskFault)?.code }
        return nil
    }

    enum Kind: CaseIterable {
        case system, simulated
    }
}

/// A directory on a disk.
private final class DiskScene {
    let disk: any Disk
    let directory: String
    private let isReal: Bool

    init(_ kind: DiskTests.Kind) throws {
        isReal = kind == .system
        directory = (isReal ? NSTemporaryDirectory() : "/") + "headgate-disk-" + UUID().uuidString + "/deeper"
        disk = isReal ? SystemDisk() : SimulatedDisk(SimulatedMedium(), Record(seed: Seed(1)))
        try disk.makeDirectory(directory)
        try disk.makeDirectory(directory)
    }

    deinit {
        if isReal { try? FileManager.default.removeItem(atPath: (directory as NSString).deletingLastPathComponent) }
    }

    func path(_ name: String) -> String { directory + "/" + name }
}
