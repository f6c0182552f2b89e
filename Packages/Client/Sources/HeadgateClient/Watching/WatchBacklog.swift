/// The unread updates of a watch: one for each topic, into which later updates are merged. So its size is bounded,
/// however slowly it is read.
struct WatchBacklog {
    /// The updates in order, at most one of each kind.
    private var updates: [WatchUpdate] = []
    /// The dispatchers and barriers that the reader knows. The reader does not learn of others that came and went
    /// unread, since their number has no bound.
    private var known: (dispatchers: Set<String>, barriers: Set<String>) = ([], [])

    /// Removes and returns the next update, or nil if there is none.
    mutating func next() -> WatchUpdate? {
        guard !updates.isEmpty else { return nil }
        let update = updates.removeFirst()
        note(update)
        return update
    }

    /// Adds an update.
    mutating func add(_ update: WatchUpdate) {
        switch update {
        // All earlier updates are out of date, read or not.
        case .interrupted: updates = [update]
        case .began: updates = updates.filter(\.isInterruption) + [update]
        default: merge(update)
        }
    }

    private mutating func merge(_ update: WatchUpdate) {
        for index in updates.indices {
            guard let merged = updates[index].merged(with: update) else { continue }
            updates[index] = withoutUnread(merged, from: updates[index])
            return
        }
        updates.append(update)
    }

    /// Returns the merged update without the removal of entries that only the unread update has.
    private func withoutUnread(_ merged: WatchUpdate, from unread: WatchUpdate) -> WatchUpdate {
        switch (merged, unread) {
        case (.dispatchers(let present, let removed), .dispatchers(let before, _)):
            let passing = Set(before.map(\.id)).subtracting(known.dispatchers)
            return .dispatchers(present, removed: removed.filter { !passing.contains($0) })
        case (.barriers(let present, let removed), .barriers(let before, _)):
            let passing = Set(before.map(\.id)).subtracting(known.barriers)
            return .barriers(present, removed: removed.filter { !passing.contains($0) })
        default: return merged
        }
    }

    private mutating func note(_ update: WatchUpdate) {
        switch update {
        case .began, .interrupted: known = ([], [])
        case .dispatchers(let present, let removed):
            known.dispatchers = known.dispatchers.subtracting(removed).union(present.map(\.id))
        case .barriers(let present, let removed):
            known.barriers = known.barriers.subtracting(removed).union(present.map(\.id))
        case .outcomes, .clients: return
        }
    }
}

extension WatchUpdate {
    fileprivate var isInterruption: Bool {
        if case .interrupted = self { true } else { false }
    }

    /// Merges this update with a later one. Returns nil if their topics differ.
    fileprivate func merged(with later: WatchUpdate) -> WatchUpdate? {
        switch (self, later) {
        case (.dispatchers(let old, let oldRemoved), .dispatchers(let new, let newRemoved)):
            let merged = Entries(old, oldRemoved, by: \.id).merged(with: Entries(new, newRemoved, by: \.id))
            return .dispatchers(merged.present, removed: merged.removed)
        case (.barriers(let old, let oldRemoved), .barriers(let new, let newRemoved)):
            let merged = Entries(old, oldRemoved, by: \.id).merged(with: Entries(new, newRemoved, by: \.id))
            return .barriers(merged.present, removed: merged.removed)
        case (.outcomes(let old), .outcomes(let new)):
            return .outcomes(
                Entries(old, [], by: \.dispatcher).merged(with: Entries(new, [], by: \.dispatcher)) {
                    var sum = $0
                    sum.add($1)
                    return sum
                }.present)
        case (.clients, .clients): return later
        default: return nil
        }
    }
}

/// Entries by id in order, and the ids of removed entries.
private struct Entries<Entry> {
    private(set) var present: [Entry]
    private(set) var removed: [String]
    private let id: (Entry) -> String

    init(_ present: [Entry], _ removed: [String], by id: @escaping (Entry) -> String) {
        self.present = present
        self.removed = removed
        self.id = id
    }

    /// Merges two sets of entries. An entry of both is the later one, or the result of `join`.
    func merged(with later: Entries, join: (Entry, Entry) -> Entry = { $1 }) -> Entries {
        let gone = Set(later.removed)
        var merged = self
        merged.present.removeAll { gone.contains(id($0)) }
        var indexes = Dictionary(merged.present.enumerated().map { (id($1), $0) }) { first, _ in first }
        for entry in later.present {
            if let index = indexes[id(entry)] {
                merged.present[index] = join(merged.present[index], entry)
            } else {
                indexes[id(entry)] = merged.present.count
                merged.present.append(entry)
            }
        }
        merged.removed = removed.filter { indexes[$0] == nil && !gone.contains($0) } + later.removed
        return merged
    }
}
