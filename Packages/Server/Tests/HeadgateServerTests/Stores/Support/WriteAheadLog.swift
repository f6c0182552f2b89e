import Foundation

/// Looks into SQLite's log, to see what was committed how.
struct WriteAheadLog {
    private let bytes: [UInt8]

    init(path: String) throws {
        bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// How many transactions the log holds: a frame that ends one says how large the database is then.
    var commits: Int {
        guard bytes.count > 32 else { return 0 }
        let salt = bytes[16..<24]
        let frameSize = 24 + bigEndian(at: 8)
        return stride(from: 32, through: bytes.count - frameSize, by: frameSize).count { frame in
            bytes[frame + 8..<frame + 16].elementsEqual(salt) && bigEndian(at: frame + 4) != 0
        }
    }

    private func bigEndian(at offset: Int) -> Int {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
    }
}
