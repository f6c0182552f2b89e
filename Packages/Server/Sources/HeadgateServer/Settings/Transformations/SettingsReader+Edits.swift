import HeadgateCore
import HeadgateData

extension SettingsReader {
    /// `rename`, `set`, `hash`, `remove`, in the order in which they are done, whatever the order of the keys.
    func edits() -> [EventEdit] {
        let renamings = renamings("rename")
        return (renamings.isEmpty ? [] : [.rename(renamings)]) + values("set")
            + paths("hash") { hashable($0) }.map { .hash($0) }
            + paths("remove") { removable($0) }.map { .remove($0) }
    }

    /// Whether there is anything to do.
    var hasEdits: Bool {
        ["rename", "set", "hash", "remove"].contains { item($0) != nil }
    }

    private func renamings(_ key: String) -> [EventEdit.Renaming] {
        var renamings: [EventEdit.Renaming] = []
        section(key) { holder in
            for old in holder.keys {
                guard let new = holder.string(old) else { continue }
                let (from, to) = (holder.path(old, at: old, movable), holder.path(new, at: old, changeable))
                if let from, let to { renamings.append(EventEdit.Renaming(from: from, to: to)) }
            }
        }
        return renamings
    }

    private func values(_ key: String) -> [EventEdit] {
        guard let object = object(key) else { return [] }
        let holder = reader(object, at: key)
        return object.compactMap { text, value in
            guard let path = holder.path(text, at: text, changeable) else { return nil }
            guard let mustBe = expectation(of: path, value) else { return .set(path, value) }
            holder.fault(text, "", mustBe)
            return nil
        }
    }

    private func paths(_ key: String, _ complaint: (EventPath) -> String?) -> [EventPath] {
        (array(key) ?? []).enumerated().compactMap { place, item in
            guard let text = String(dataItem: item) else {
                fault(key, "[\(place)]", "must be a path, like data.user.id")
                return nil
            }
            return path(text, at: key, suffix: "[\(place)]", complaint)
        }
    }

    private func path(
        _ text: String, at key: String, suffix: String = "", _ complaint: (EventPath) -> String?
    ) -> EventPath? {
        let path = EventPath(text)
        guard let message = path.complaint(about: text) ?? complaint(path) else { return path }
        fault(key, suffix, message)
        return nil
    }

    // MARK: What may be done to what

    private func changeable(_ path: EventPath) -> String? {
        path.member.isChangeable ? nil : "`\(path.member.rawValue)` cannot be changed"
    }

    /// The data and the context are always there, and so is the name.
    private func movable(_ path: EventPath) -> String? {
        if let complaint = changeable(path) { return complaint }
        return path.names.isEmpty && path.member != .key ? "`\(path.member.rawValue)` has to stay" : nil
    }

    private func hashable(_ path: EventPath) -> String? {
        if let complaint = changeable(path) { return complaint }
        let isWhole = path.names.isEmpty && (path.member == .data || path.member == .context)
        return isWhole ? "`\(path.member.rawValue)` is an object, and stays one" : nil
    }

    private func removable(_ path: EventPath) -> String? {
        path.member == .event ? "`event` has to stay" : changeable(path)
    }

    /// What a value would have to be; nil when it will do.
    private func expectation(of path: EventPath, _ value: DataItem) -> String? {
        guard path.names.isEmpty else { return nil }
        switch (path.member, value) {
        case (.data, .object), (.context, .object): return nil
        case (.data, _), (.context, _): return "must be an object"
        case (_, .string(let text)) where !text.isEmpty: return nil
        default: return "must be a string, and not empty"
        }
    }
}
