import HeadgateCore
import HeadgateData

/// The number of bytes, and for each route its number (4 bytes), its events (8) and their bytes (8), in the order of the
/// routes.
extension RouteTallies: LogCodable {
    private static let entrySize = 20

    func write(to writer: inout LogWriter) {
        writer.put(UInt32(count * RouteTallies.entrySize))
        // Most groups have one route.
        if let (route, tally) = only { return RouteTallies.write(tally, of: route, to: &writer) }
        for (route, tally) in sorted(by: { $0.route < $1.route }) {
            RouteTallies.write(tally, of: route, to: &writer)
        }
    }

    private static func write(_ tally: Tally, of route: RouteNumber, to writer: inout LogWriter) {
        writer.put(entrySize) { room in
            LittleEndian.store(route, in: room, at: 0)
            LittleEndian.store(Int64(tally.events), in: room, at: 4)
            LittleEndian.store(Int64(tally.bytes), in: room, at: 12)
        }
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        self.init()
        let bytes = try reader.takePiece()
        guard bytes.count.isMultiple(of: RouteTallies.entrySize) else { throw LogReader.Unsound() }
        for offset in stride(from: 0, to: bytes.count, by: RouteTallies.entrySize) {
            let events = LittleEndian.load(bytes, at: offset + 4, as: Int64.self)
            let size = LittleEndian.load(bytes, at: offset + 12, as: Int64.self)
            // A group cannot have more. The sum of larger numbers could overflow.
            guard 0...Int64(Int32.max) ~= events, 0...(1 << 40) ~= size else { throw LogReader.Unsound() }
            add(
                Tally(events: Int(events), bytes: Int(size)),
                route: LittleEndian.load(bytes, at: offset, as: RouteNumber.self))
        }
    }
}

/// The position, and the ranges after it (``RangeBlob``).
extension Settled: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(position)
        writer.put(RangeBlob.encode(self))
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        let position = try reader.takeSequenceNumber()
        self = RangeBlob.decode(try reader.takePiece(), behind: position, through: LogFormat.mostEvents)
    }
}

/// The encoding of the settled ranges after a position: for each range its distance from the range before it, and its
/// length. Both take seven bits a byte, the lowest first, because most are small.
enum RangeBlob {
    static func encode(_ settled: Settled) -> [UInt8] {
        var bytes: [UInt8] = []
        var end = settled.position
        for range in settled.ranges {
            append(UInt64(range.lowerBound - end), to: &bytes)
            append(UInt64(range.upperBound - range.lowerBound + 1), to: &bytes)
            end = range.upperBound
        }
        return bytes
    }

    /// Decodes ranges. If the bytes cannot be of ``encode(_:)``, the rest counts as unsettled: these events are
    /// delivered again, which is better than lost.
    /// - Parameter newest: the highest number that was ever given.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, behind position: SequenceNumber, through newest: SequenceNumber
    ) -> Settled {
        var ranges: [ClosedRange<SequenceNumber>] = []
        var rest = bytes[...]
        var end = position
        while let distance = number(&rest), let count = number(&rest) {
            let (first, isFarOff) = end.addingReportingOverflow(distance)
            let (last, isTooLong) = first.addingReportingOverflow(count - 1)
            guard distance > 0, count > 0, !isFarOff, !isTooLong, last <= newest else { break }
            ranges.append(first...last)
            end = last
        }
        return Settled(through: position, and: ranges)
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest > 0x7f {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Takes the first number; nil if it does not fit.
    private static func number(_ bytes: inout UnsafeRawBufferPointer.SubSequence) -> Int64? {
        var number: Int64 = 0
        for shift in stride(from: Int64(0), to: 63, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            number |= Int64(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return number }
        }
        return nil
    }
}
