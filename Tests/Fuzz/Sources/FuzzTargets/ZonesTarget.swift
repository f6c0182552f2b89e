import HeadgateData

@testable import HeadgateServer

/// Time zones, in compiled files and as POSIX strings. An accepted zone must return an offset for every moment, equal
/// to that of a simple search through all changes.
enum ZonesTarget {
    /// The first byte selects the format of the rest.
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        var input = FuzzInput(input)
        if input.bool() {
            guard let zone = PosixTimeZone(input.remainder()) else { return 0 }
            inspect(zone)
        } else {
            guard let table = try? TimeZoneTable(tzif: input.remainder()) else { return 0 }
            inspect(table)
        }
        return 0
    }

    /// The largest possible offset: the format allows 26 hours, including the implied hour of daylight saving.
    private static let most = 26 * 3600

    // MARK: Compiled files

    private static func inspect(_ table: TimeZoneTable) {
        let near = table.transitions.prefix(8).map(\.seconds) + table.transitions.suffix(8).map(\.seconds)
        for moment in near.flatMap({ [$0 &- 1, $0, $0 &+ 1] }) + moments where possible.contains(moment) {
            let offset = table.offset(at: moment)
            precondition(abs(offset) <= most, "\(offset) s at \(moment)")
            precondition(offset == plainOffset(of: table, at: moment))
        }
        if let rule = table.laterRule { inspect(rule) }
    }

    private static func plainOffset(of table: TimeZoneTable, at moment: Int64) -> Int {
        if let rule = table.laterRule, table.transitions.allSatisfy({ $0.seconds <= moment }) {
            return rule.offset(at: moment)
        }
        return table.transitions.last { $0.seconds <= moment }?.offset ?? table.firstOffset
    }

    /// The supported moments: more than all years of the calendar.
    private static let possible: ClosedRange<Int64> = -(1 << 45)...1 << 45
    private static let moments: [Int64] = [-(1 << 45), -1, 0, 951_782_400, 1_709_164_800, 1_800_000_000, 1 << 45]

    // MARK: POSIX strings

    private static func inspect(_ zone: PosixTimeZone) {
        precondition(abs(zone.standardOffset) <= most && abs(zone.saving?.offset ?? 0) <= most)
        for moment in moments {
            let offset = zone.offset(at: moment)
            precondition(offset == zone.standardOffset || offset == zone.saving?.offset)
        }
        guard let saving = zone.saving, saving.isPlain(zone) else { return }
        for year in [1999, 2000, 2024, 2026, 2100] { inspect(zone, saving, in: year) }
    }

    /// Checks that the clocks change at the two moments of a year, and at no others.
    private static func inspect(_ zone: PosixTimeZone, _ saving: PosixTimeZone.Saving, in year: Int) {
        let start = saving.start.seconds(in: year) - Int64(zone.standardOffset)
        let end = saving.end.seconds(in: year) - Int64(saving.offset)
        guard start != end else { return }
        let (first, last) = (min(start, end), max(start, end))
        let inside = start < end ? saving.offset : zone.standardOffset
        let outside = start < end ? zone.standardOffset : saving.offset
        for moment in [first, (first + last) / 2, last - 1] {
            precondition(zone.offset(at: moment) == inside, "\(zone) at \(moment)")
        }
        for moment in [first - 1, last] { precondition(zone.offset(at: moment) == outside, "\(zone) at \(moment)") }
    }
}

extension PosixTimeZone.Saving {
    /// True if both moments lie well within every year at any offset.
    fileprivate func isPlain(_ zone: PosixTimeZone) -> Bool {
        [start, end].allSatisfy { moment in
            let (first, last) = (moment.seconds(in: 2023), moment.seconds(in: 2024))
            let margin: Int64 = 2 * 86_400
            let new = { (year: Int) in Int64(CivilDate(year: year, month: 1, day: 1)?.daysSince1970 ?? 0) * 86_400 }
            return first > new(2023) + margin && first < new(2024) - margin && last > new(2024) + margin
                && last < new(2025) - margin
        }
    }
}
