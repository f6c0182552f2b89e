import HeadgateCore
import HeadgateData

extension BarrierSettings {
    /// Reads an entry of `barriers`.
    init(id: String, _ reader: SettingsReader, kinds: BarrierKinds, dispatchers: [ConfiguredDispatcher]) {
        let barrierID = reader.string("barrier_id")
        self.init(
            id: id, kind: reader.string("kind") ?? barrierID ?? id,
            scopes: reader.scopes("scopes"), configuration: reader.configuration("configuration"))
        reader.word("on_error", of: [.open, .closed], into: &stateOnError)
        if let complaint = BarrierSettings.complaint(about: id) { reader.fault(complaint) }
        kinds.check(kind: kind, reader)
        warnOfScopes(reader, kinds, dispatchers)
    }

    /// Scopes without a dispatcher take effect when it appears (Behaviour B4). An explicit `[]` is meant.
    private func warnOfScopes(_ reader: SettingsReader, _ kinds: BarrierKinds, _ dispatchers: [ConfiguredDispatcher]) {
        guard let scopes else {
            if dispatchers.contains(where: { kinds.stands(kind, before: $0) }) { return }
            return reader.warn("scopes", "", "are not given, and by default it stands before no dispatcher")
        }
        for case .dispatcher(let scope) in scopes where !dispatchers.contains(where: { $0.id == scope }) {
            reader.warn("scopes", "", "there is no dispatcher `\(scope)`")
        }
        if scopes.contains(.all), dispatchers.isEmpty { reader.warn("scopes", "", "there is no dispatcher at all") }
    }

    /// What is wrong with a barrier's name; nil when it will do.
    private static func complaint(about id: String) -> String? {
        if let complaint = BarrierName.complaint(about: id) { return complaint }
        let isTaken = BarrierKinds.ownedByService.contains { id.hasPrefix($0 + ":") }
        return isTaken ? "is the name of a barrier that the service has by itself" : nil
    }
}

extension SettingsReader {
    /// Scopes: a list, or one alone (Behaviour B4). Each counts once.
    fileprivate func scopes(_ key: String) -> [BarrierScope]? {
        let mustBe = "must be `all`, the id of a dispatcher, or a list of those"
        switch item(key) {
        case nil: return nil
        case .string(let word) where !word.isEmpty: return [BarrierScope(rawValue: word)]
        case .array: return array(key, most: Limits.mostScopes).map { scopes(key, $0) }
        default:
            fault(key, "", mustBe)
            return nil
        }
    }

    /// A barrier's configuration, which its kind checks; a null in it counts as absent, as everywhere.
    fileprivate func configuration(_ key: String) -> DataObject {
        let object = item(key).flatMap(DataObject.init(dataItem:)) ?? [:]
        return DataObject(object.filter { !$0.value.isNull }.map { ($0.key, $0.value) })
    }

    private func scopes(_ key: String, _ items: [DataItem]) -> [BarrierScope] {
        var scopes: [BarrierScope] = []
        for (place, item) in items.enumerated() {
            guard let word = String(dataItem: item), !word.isEmpty else {
                fault(key, "[\(place)]", "must be `all` or the id of a dispatcher")
                continue
            }
            let scope = BarrierScope(rawValue: word)
            if !scopes.contains(scope) { scopes.append(scope) }
        }
        return scopes
    }
}
