import HeadgateCore
import HeadgateData

extension Settings {
    /// Reads `transformations`.
    /// - Parameter own: the kinds that the program brings.
    mutating func readTransformations(_ reader: SettingsReader, rules: RuleReader, own: Set<String>) {
        let dispatcherIDs = Set(dispatcherIDs)
        var ids: Set<String> = []
        for (place, item) in (reader.array("transformations", most: Limits.mostRules) ?? []).enumerated() {
            guard let object = DataObject(dataItem: item) else {
                reader.fault("transformations", "[\(place)]", "must be an object")
                continue
            }
            let entry = reader.reader(object, at: "transformations[\(place)]")
            let transformation = ConfiguredTransformation(
                entry, place: place, rules: rules, dispatcherIDs: dispatcherIDs, own: own)
            if !ids.insert(transformation.settings.id).inserted { entry.fault("id", "", "is the id of one before") }
            transformations.append(transformation)
            entry.finish()
        }
    }
}

extension ConfiguredTransformation {
    /// Reads an entry of `transformations`.
    init(_ reader: SettingsReader, place: Int, rules: RuleReader, dispatcherIDs: Set<String>, own: Set<String>) {
        let id = reader.string("id") ?? "[\(place)]"
        if id.isEmpty { reader.fault("id", "", "must not be empty") }
        settings = TransformationSettings(
            id: id, transformerId: id, scopes: reader.transformationScopes("scopes", dispatcherIDs: dispatcherIDs),
            order: reader.value("order", Double.self, mustBe: "a number") ?? Double(place),
            when: rules.rule("when", in: reader))
        work = reader.work(own: own)
    }
}

extension SettingsReader {
    /// Edits, unless a kind of the program's is named.
    fileprivate func work(own: Set<String>) -> ConfiguredTransformation.Work {
        guard let kind = item("kind") else {
            if !hasEdits { warn("id", "", "changes nothing: there is no rename, set, hash or remove") }
            return .edits(edits())
        }
        if let kind = String(dataItem: kind), own.contains(kind) {
            return .own(kind: kind, configuration: object("configuration") ?? [:])
        }
        let none = "must not be there: no program brings a kind of transformer"
        fault("kind", "", own.isEmpty ? none : SettingsReader.mustBeOne(of: own.sorted()))
        acceptEveryKey()
        return .edits([])
    }

    /// Scopes: a list, or one alone.
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
            fault(key, suffix, "must be afterCollectors, allDispatchers, or dispatcher: and the id of one")
            return nil
        }
        if case .dispatcher(let id) = scope, !dispatcherIDs.contains(id) {
            warn(key, suffix, "there is no dispatcher `\(id)`")
        }
        return scope
    }
}
