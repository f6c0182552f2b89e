import HeadgateCore
import HeadgateData

/// The section `store`.
extension StoreLimits {
    /// The limits under the names of the configuration.
    var object: DataObject {
        [
            "max_events": .number(DataNumber(maxEvents)),
            "max_bytes": .number(DataNumber(maxBytes)),
            "max_age_s": .init(seconds: maxAge),
            "overflow": .string(overflow.rawValue),
            "dedupe_window_s": .init(seconds: dedupeWindow),
            "dedupe_ids": .number(DataNumber(dedupeIDs)),
            "orphan_retention_s": .init(seconds: orphanRetention),
        ]
    }

    mutating func read(_ reader: SettingsReader) {
        reader.integer("max_events", in: 1...SettingsReader.most, into: &maxEvents)
        reader.integer("max_bytes", in: 1...SettingsReader.most, into: &maxBytes)
        reader.seconds("max_age_s", into: &maxAge)
        reader.word("overflow", of: Overflow.allCases, into: &overflow)
        reader.seconds("dedupe_window_s", atLeast: 0, into: &dedupeWindow)
        reader.integer("dedupe_ids", in: 0...StoreLimits.mostDedupeIDs, into: &dedupeIDs)
        reader.seconds("orphan_retention_s", atLeast: 0, into: &orphanRetention)
    }

    /// More than this would take gigabytes of memory.
    private static let mostDedupeIDs = 100_000_000
}
