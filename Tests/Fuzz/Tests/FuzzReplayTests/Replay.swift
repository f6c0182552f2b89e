import Foundation
import HeadgateSeeds

/// Gives a target its corpus, and then what a ``Mutator`` makes of it.
enum Replay {
    static func run(_ target: FuzzTarget, rounds: Int) throws {
        let corpus = try corpus(target)
        for input in corpus { feed(input, to: target) }
        for seed in Seeds.first(1) {
            // Whoever ends this process at an input ends it behind this line.
            FileHandle.standardError.write(Data("\(target.rawValue): \(seed)\n".utf8))
            var mutator = Mutator(corpus: corpus, seed: seed)
            for _ in 0..<rounds { feed(mutator.next(), to: target) }
        }
    }

    /// The inputs in `Tests/Fixtures/fuzz`, in the order of their names.
    static func corpus(_ target: FuzzTarget) throws -> [[UInt8]] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
        let folder = tests.appending(path: "Fixtures/fuzz/\(target.rawValue)")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map {
            Array(try Data(contentsOf: folder.appending(path: $0)))
        }
    }

    private static func feed(_ input: [UInt8], to target: FuzzTarget) {
        // In memory of its own and of its exact size, so that the sanitizer sees whoever reads on.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: input.count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: input)
        _ = target.run(UnsafeRawBufferPointer(memory))
    }
}
