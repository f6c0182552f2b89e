/// What is known of things that have ids, from notifications that tell only what is new of them.
struct WatchedEntries<Entry> {
    private var entries: [String: Entry] = [:]
    private var isOld = false

    /// All, by their ids.
    var all: [Entry] {
        entries.sorted { $0.key < $1.key }.map(\.value)
    }

    /// What is known counts only until the next news, which tell everything.
    mutating func markOld() {
        isOld = true
    }

    /// Takes in what has changed and what is gone.
    /// - Parameter merge: makes an entry of the one that was known, if there was one, and the news of it.
    mutating func take(
        _ changed: [Entry], removed: [String] = [], by id: (Entry) -> String,
        merge: (Entry?, Entry) -> Entry = { $1 }
    ) {
        if isOld { entries = [:] }
        isOld = false
        for entry in changed { entries[id(entry)] = merge(entries[id(entry)], entry) }
        for id in removed { entries[id] = nil }
    }
}
