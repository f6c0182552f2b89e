import HeadgateCore

/// An entry that is written to a log as one frame.
enum LogEntry {
    case group(AppendGroup)
    case changes([LogChange])

    var isGroup: Bool {
        if case .group = self { true } else { false }
    }

    /// True if the entry has content of events.
    var hasEvents: Bool {
        switch self {
        case .group: true
        case .changes(let changes): changes.contains { $0.deadLetter != nil }
        }
    }

    /// Returns the entry with numbers for its dead letters. Later changes name a dead letter by its number, also if
    /// earlier dead letters are damaged.
    func numbered(behind newest: inout DeadLetterNumber) -> LogEntry {
        guard case .changes(let changes) = self, changes.contains(where: { $0.deadLetter != nil }) else { return self }
        var numbered: [LogChange] = []
        for change in changes {
            if case .numberedDeadLetter(let stored) = change { newest = max(newest, stored.number) }
            guard case .requested(.deadLetter(let deadLetter)) = change else {
                numbered.append(change)
                continue
            }
            newest += 1
            numbered.append(.numberedDeadLetter(StoredDeadLetter(number: newest, deadLetter: deadLetter)))
        }
        return .changes(numbered)
    }

    /// True if the entry says that a copy replaces segments.
    var isReplacement: Bool {
        guard case .changes(let changes) = self else { return false }
        return changes.contains { if case .replaced = $0 { true } else { false } }
    }
}

/// An entry, and its range in the active segment.
struct EncodedEntry {
    var entry: LogEntry
    var range: Range<Int>
}
