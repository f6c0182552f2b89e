import HeadgateCore
import HeadgateData

/// The bytes in which the store keeps how much a group holds of each route: for each its number (4 bytes), its events
/// (8) and their bytes (8), little-endian.
enum TallyBlob {
    private static let entrySize = 20

    static func encode(_ tallies: [RouteNumber: Tally]) -> [UInt8] {
        tallies.sorted { $0.key < $1.key }.flatMap { route, tally in
            LittleEndian.bytes(route) + LittleEndian.bytes(Int64(tally.events)) + LittleEndian.bytes(Int64(tally.bytes))
        }
    }

    /// Nil when the bytes cannot be what ``encode(_:)`` made.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> [(route: RouteNumber, tally: Tally)]? {
        guard bytes.count.isMultiple(of: entrySize) else { return nil }
        let entries = stride(from: 0, to: bytes.count, by: entrySize).map { offset in
            let events = LittleEndian.load(bytes, at: offset + 4, as: Int64.self)
            let size = LittleEndian.load(bytes, at: offset + 12, as: Int64.self)
            return (
                route: LittleEndian.load(bytes, at: offset, as: RouteNumber.self),
                tally: Tally(events: Int(events), bytes: Int(size))
            )
        }
        // More than this in one group is a lie, and adding it up could overflow.
        let isSound = entries.allSatisfy { 0...Int(Int32.max) ~= $0.tally.events && 0...(1 << 40) ~= $0.tally.bytes }
        return isSound ? entries : nil
    }
}
