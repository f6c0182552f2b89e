import HeadgateCore
import HeadgateData

/// The settings of one transformation (Behaviour P4).
struct ConfiguredTransformation: Sendable, Equatable {
    /// The transformation's ID, order, scopes and rule. Its transformer has the same ID.
    var settings: TransformationSettings
    /// The work that the transformation does.
    var work: Work

    enum Work: Sendable, Equatable {
        /// The edits that the service applies, in order.
        case edits([EventEdit])
        /// The work of the program's transformer of this kind, with this configuration.
        case own(kind: String, configuration: DataObject)
    }

    /// The ID of the transformation and of its transformer.
    var id: String { settings.id }
}

extension ConfiguredTransformation {
    init(_ reader: SettingsReader, index: Int, rules: RuleReader, dispatcherIDs: Set<String>, own: Set<String>) {
        let id = reader.string("id") ?? "[\(index)]"
        if id.isEmpty { reader.fault("id", "", "must not be empty") }
        settings = TransformationSettings(
            id: id, transformerId: id, scopes: reader.transformationScopes("scopes", dispatcherIDs: dispatcherIDs),
            order: reader.value("order", Double.self, mustBe: "a number") ?? Double(index),
            when: rules.rule("when", in: reader), dropsOnError: reader.dropsOnError("on_error"))
        work = reader.work(own: own)
    }
}

extension Settings {
    /// Reads the section `transformations`.
    /// - Parameter own: the kinds that the program adds.
    mutating func readTransformations(_ reader: SettingsReader, rules: RuleReader, own: Set<String>) {
        let dispatcherIDs = Set(dispatcherIDs)
        var ids: Set<String> = []
        for (index, item) in (reader.array("transformations", most: Limits.mostRules) ?? []).enumerated() {
            guard let object = DataObject(dataItem: item) else {
                reader.fault("transformations", "[\(index)]", "must be an object")
                continue
            }
            let entry = reader.reader(object, at: "transformations[\(index)]")
            let transformation = ConfiguredTransformation(
                entry, index: index, rules: rules, dispatcherIDs: dispatcherIDs, own: own)
            if !ids.insert(transformation.settings.id).inserted {
                entry.fault("id", "", "is the id of an earlier transformation")
            }
            transformations.append(transformation)
            entry.finish()
        }
    }
}

extension SettingsReader {
    /// Reads the kind of the program's transformer, or the edits if there is no kind.
    fileprivate func work(own: Set<String>) -> ConfiguredTransformation.Work {
        guard let kind = item("kind") else {
            if !hasEdits { warn("id", "", "changes nothing: there is no rename, set, hash or remove") }
            return .edits(edits())
        }
        if let kind = String(dataItem: kind), own.contains(kind) {
            return .own(kind: kind, configuration: object("configuration") ?? [:])
        }
        let none = "must not be given: this program has no kinds of transformers"
        fault("kind", "", own.isEmpty ? none : SettingsReader.mustBeOne(of: own.sorted()))
        acceptEveryKey()
        return .edits([])
    }

    /// Reads `send` (the default) or `drop`. Returns true for `drop`.
    fileprivate func dropsOnError(_ key: String) -> Bool {
        guard let item = item(key) else { return false }
        if item == "drop" || item == "send" { return item == "drop" }
        fault(key, "", SettingsReader.mustBeOne(of: ["send", "drop"]))
        return false
    }

    /// Reads scopes: a list, or a single scope.
    fileprivate func transformationScopes(_ key: String, dispatcherIDs: Set<String>) -> [TransformationScope] {
        require(key)
        switch item(key) {
        case nil: return []
        case .array(let items):
            return items.enumerated().compactMap { scope(key, "[\($0)]", $1, dispatcherIDs) }
        case let item?: return scope(key, "", item, dispatcherIDs).map { [$0] } ?? []
        }
    }

    private func scope(
        _ key: String, _ suffix: String, _ item: DataItem, _ dispatcherIDs: Set<String>
    ) -> TransformationScope? {
        guard let scope = String(dataItem: item).flatMap(TransformationScope.init(rawValue:)) else {
            fault(key, suffix, "must be afterCollectors, allDispatchers, or dispatcher:ID")
            return nil
        }
        if case .dispatcher(let id) = scope, !dispatcherIDs.contains(id) {
            warn(key, suffix, "there is no dispatcher `\(id)`")
        }
        return scope
    }
}

extension SettingsReader {
    /// Reads `rename`, `set`, `hash` and `remove`. The edits apply in this order, whatever the order of the keys.
    fileprivate func edits() -> [EventEdit] {
        let renamings = renamings("rename")
        return (renamings.isEmpty ? [] : [.rename(renamings)]) + values("set")
            + paths("hash") { hashable($0) }.map { .hash($0) }
            + paths("remove") { removable($0) }.map { .remove($0) }
    }

    /// A Boolean value that says whether the entry has an edit.
    fileprivate var hasEdits: Bool {
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

    private func paths(_ key: String, _ problem: (EventPath) -> String?) -> [EventPath] {
        (array(key) ?? []).enumerated().compactMap { index, item in
            guard let text = String(dataItem: item) else {
                fault(key, "[\(index)]", "must be a path, like data.user.id")
                return nil
            }
            return path(text, at: key, suffix: "[\(index)]", problem)
        }
    }

    private func path(
        _ text: String, at key: String, suffix: String = "", _ problem: (EventPath) -> String?
    ) -> EventPath? {
        let path = EventPath(text)
        guard let message = path.problem(about: text) ?? problem(path) else { return path }
        fault(key, suffix, message)
        return nil
    }

    // MARK: Allowed edits of a path

    private func changeable(_ path: EventPath) -> String? {
        path.member.isChangeable ? nil : "`\(path.member.rawValue)` cannot be changed"
    }

    /// Returns the fault of a path to rename. Data, context and name must stay.
    private func movable(_ path: EventPath) -> String? {
        if let problem = changeable(path) { return problem }
        return path.names.isEmpty && path.member != .key ? "`\(path.member.rawValue)` must not be removed" : nil
    }

    private func hashable(_ path: EventPath) -> String? {
        if let problem = changeable(path) { return problem }
        let isWhole = path.names.isEmpty && (path.member == .data || path.member == .context)
        return isWhole ? "`\(path.member.rawValue)` must remain an object" : nil
    }

    private func removable(_ path: EventPath) -> String? {
        path.member == .event ? "`event` must not be removed" : changeable(path)
    }

    /// Returns the requirement that a value breaks, or nil if the path may have the value.
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
