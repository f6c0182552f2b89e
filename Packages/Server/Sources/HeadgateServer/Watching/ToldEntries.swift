/// What somebody was told last of things that have ids.
struct ToldEntries<Entry: Equatable> {
    private let id: (Entry) -> String
    private var told: [String: Entry]?

    /// What is new.
    struct News: Equatable {
        /// Places of the entries that are new or have changed.
        var changed: [Int]
        /// Ids of those that are gone.
        var removed: [String]
    }

    /// Nothing told yet.
    init(by id: @escaping (Entry) -> String) {
        self.id = id
    }

    /// Takes note that these are told now, whole.
    /// - Returns: nil when nothing is new; never the first time.
    mutating func tell(_ entries: [Entry]) -> News? {
        let old = told ?? [:]
        let new = Dictionary(entries.map { (id($0), $0) }) { first, _ in first }
        let changed = entries.indices.filter { old[id(entries[$0])] != entries[$0] }
        let removed = old.keys.filter { new[$0] == nil }.sorted()
        guard told == nil || !changed.isEmpty || !removed.isEmpty else { return nil }
        told = new
        return News(changed: changed, removed: removed)
    }
}
