@testable import HeadgateServer

/// Makes time zone files for tests.
enum TZifBytes {
    /// Returns a file of version 2 with these transitions, as small as zic makes it.
    static func slim(
        first: Int = 0, _ transitions: [(seconds: Int64, offset: Int)] = [], footer: String = ""
    ) -> [UInt8] {
        let offsets = [first] + transitions.map(\.offset)
        var file = header(version: 0x32, transitions: 0, types: 1) + type(0) + [0]
        file += header(version: 0x32, transitions: transitions.count, types: offsets.count)
        for transition in transitions { file += number(UInt64(bitPattern: transition.seconds), 8) }
        file += (0..<transitions.count).map { UInt8($0 + 1) }
        for offset in offsets { file += type(offset) }
        return file + [0] + Array("\n\(footer)\n".utf8)
    }

    /// Returns a file of the first version.
    static func old(first: Int, _ transitions: [(seconds: Int32, offset: Int)]) -> [UInt8] {
        let offsets = [first] + transitions.map(\.offset)
        var file = header(version: 0, transitions: transitions.count, types: offsets.count)
        for transition in transitions { file += number(UInt64(UInt32(bitPattern: transition.seconds)), 4) }
        file += (0..<transitions.count).map { UInt8($0 + 1) }
        for offset in offsets { file += type(offset) }
        return file + [0]
    }

    private static func header(version: UInt8, transitions: Int, types: Int) -> [UInt8] {
        Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
            + [0, 0, 0, transitions, types, 1].flatMap { number(UInt64($0), 4) }
    }

    private static func type(_ offset: Int) -> [UInt8] {
        number(UInt64(UInt32(bitPattern: Int32(offset))), 4) + [0, 0]
    }

    private static func number(_ value: UInt64, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
    }
}
