import HeadgateData

@testable import HeadgateCore
@testable import HeadgateServer
@testable import HeadgateStore

/// The tallies and ranges in the frames of the log. Any bytes decode to a value or to nothing, and a decoded value must
/// survive encoding.
enum BlobsTarget {
    /// The first byte selects the column.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        switch input.number(below: 7) {
        case 0: tallies(input.remainder())
        case 1: ranges(&input)
        case 2: ids(&input, .fingerprints)
        case 3: ids(&input, .plain)
        case 4: clocks(&input)
        case 5: key(input.remainder())
        default: pause(input.remainder())
        }
        return 0
    }

    private static func tallies(_ bytes: [UInt8]) {
        var writer = LogWriter()
        writer.put(bytes)
        guard let read = decode(writer.bytes) else { return }
        precondition(read.count * 20 <= bytes.count)
        var again = LogWriter()
        again.put(read)
        precondition(decode(again.bytes) == read)
        // The total that a start of the store computes.
        _ = read.total
    }

    private static func decode(_ bytes: [UInt8]) -> RouteTallies? {
        bytes.withUnsafeBytes { bytes in
            var reader = LogReader(bytes)
            return try? reader.take()
        }
    }

    private static func ranges(_ input: inout FuzzInput) {
        let position: Int64 = input.integer()
        let newest = max(position, input.integer())
        let settled = input.remainder().withUnsafeBytes { RangeBlob.decode($0, behind: position, through: newest) }
        precondition(settled.position >= position && settled.position <= newest)
        var end = settled.position
        for range in settled.ranges {
            precondition(range.lowerBound > end && range.lowerBound - end > 1, "\(range) touches \(end)")
            precondition(range.upperBound <= newest)
            end = range.upperBound
        }
        let again = RangeBlob.encode(settled).withUnsafeBytes {
            RangeBlob.decode($0, behind: settled.position, through: newest)
        }
        precondition(again == settled, "\(again) instead of \(settled)")
    }

    private static func ids(_ input: inout FuzzInput, _ form: RecentIDs.Form) {
        var window = DedupeWindow(capacity: input.number(below: 8), length: Int64(input.byte()))
        let ids = RecentIDs(lastSequenceNumber: 1, receivedStamp: 1, count: 1, form: form, bytes: input.remainder())
        var writer = RecentIDsWriter()
        var count = 0
        ids.visit(dedupeKey) { fingerprint, number, stamp in
            window.insert(fingerprint, sequenceNumber: number, stamp: stamp)
            writer.append(fingerprint, sequenceNumber: number, receivedStamp: stamp)
            precondition(window.remembered(at: stamp).ids <= window.capacity)
            count += 1
        }
        let written = writer.take(lastSequenceNumber: 1)
        precondition((written?.count ?? 0) == count)
        guard form == .fingerprints else { return }
        precondition((written?.bytes ?? []) == Array(ids.bytes.prefix(count * 32)) && ids.bytes.count - count * 32 < 32)
    }

    private static let dedupeKey = DedupeKey(kept: Array(0..<16))!

    private static func clocks(_ input: inout FuzzInput) {
        let clocks = ClockReading(
            now: Instant(nanoseconds: Int64(input.integer(UInt32.self))),
            wall: Timestamp(milliseconds: Int64(input.integer(UInt32.self))), sinceBoot: Int64(input.byte()), boot: "b")
        guard let pair = ClockPair(kept: input.remainder()) else { return }
        precondition(ClockPair(kept: pair.kept) == pair)
        precondition(!pair.isApart(from: pair))
        let stamp = pair.stamp(at: clocks, builtAt: .unknownBuild)
        precondition(stamp >= pair.stamp, "the scale goes back from \(pair.stamp) to \(stamp)")
        let scale = AgeScale(clocks, kept: pair, newest: pair.stamp)
        precondition(scale.stamp(clocks.now) >= pair.stamp)
        _ = scale.instant(of: pair.stamp)
    }

    private static func key(_ bytes: [UInt8]) {
        precondition(DedupeKey(kept: bytes).map { $0.kept == bytes } ?? (bytes.count != 16))
    }

    private static func pause(_ bytes: [UInt8]) {
        let setting = ManualBarrier.Setting(kept: bytes)
        precondition(ManualBarrier.Setting(kept: setting.kept) == setting)
    }
}
