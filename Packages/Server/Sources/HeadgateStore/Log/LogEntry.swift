import HeadgateCore

/// What is written to a log at once.
enum LogEntry {
    case group(AppendGroup)
    case changes([LogChange])

    var isGroup: Bool {
        if case .group = self { true } else { false }
    }

    /// With the numbers of the letters in it: what is said of one later means that one also where the letters before it are damaged.
    func numbered(behind newest: inout LetterNumber) -> LogEntry {
        guard case .changes(let changes) = self, changes.contains(where: { $0.letter != nil }) else { return self }
        var numbered: [LogChange] = []
        for change in changes {
            if case .letter(let stored) = change { newest = max(newest, stored.number) }
            guard case .asked(.deadLetter(let letter)) = change else {
                numbered.append(change)
                continue
            }
            newest += 1
            numbered.append(.letter(StoredLetter(number: newest, letter: letter)))
        }
        return .changes(numbered)
    }

    /// Whether it says that a copy stands for segments.
    var isReplacement: Bool {
        guard case .changes(let changes) = self else { return false }
        return changes.contains { if case .replaced = $0 { true } else { false } }
    }
}

/// An entry, and where in its segment it lies.
struct LaidEntry {
    var entry: LogEntry
    var range: Range<Int>
}
