import Foundation
import HeadgateSeeds

/// Runs a target with its corpus, and then with inputs of a ``Mutator``.
enum Replay {
    static func run(_ target: FuzzTarget, rounds: Int) throws {
        let corpus = try corpus(target)
        for input in corpus { feed(input, to: target) }
        for seed in Seeds.first(1) {
            // If an input crashes this process, the seed is the last line of its output.
            FileHandle.standardError.write(Data("\(target.rawValue): \(seed)\n".utf8))
            var mutator = Mutator(corpus: corpus, seed: seed)
            for _ in 0..<rounds { feed(mutator.next(), to: target) }
        }
    }

    /// Returns the inputs in `Tests/Fixtures/fuzz`, sorted by name.
    static func corpus(_ target: FuzzTarget) throws -> [[UInt8]] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        let folder = tests.appending(path: "Fixtures/fuzz/\(target.rawValue)")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map {
            Array(try Data(contentsOf: folder.appending(path: $0)))
        }
    }

    private static func feed(_ input: [UInt8], to target: FuzzTarget) {
        // An allocation of exactly the input's size, so that the sanitizer detects reads beyond the end.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: input.count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: input)
        _ = target.run(UnsafeRawBufferPointer(memory))
    }
}
