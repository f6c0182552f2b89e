import HeadgateData

/// The settings that only a start can change. They keep the values of the start (Behaviour S2).
enum StartOnlySetting: String, CaseIterable {
    case socket
    case dataDirectory = "data_dir"
    case durability
    case storeKind = "store.kind"
    case encryption = "store.encryption"

    /// Returns the settings of this kind that differ.
    static func changed(from old: Settings, to new: Settings) -> [StartOnlySetting] {
        allCases.filter { $0.value(in: old) != $0.value(in: new) }
    }

    /// The fault of a `config.set` without `persist` that names this setting. A restart would revert the value before
    /// it takes effect.
    var faultWithoutPersist: SettingsFault {
        let advice = PersistedSettings.refused.contains(rawValue) ? "" : "set it with persist, or "
        return SettingsFault(
            path: rawValue, message: "takes effect only at a start: \(advice)set it in the configuration file")
    }

    /// Returns a patch that sets this setting to its value in `settings`. If the value is missing there,
    /// the patch has null, which removes it.
    func patch(of settings: Settings) -> DataObject {
        let value = value(in: settings) ?? .null
        let names = rawValue.split(separator: ".").map(String.init)
        return names.dropLast().reversed().reduce([names[names.count - 1]: value]) { [$1: .object($0)] }
    }

    private func value(in settings: Settings) -> DataItem? {
        switch self {
        case .socket: settings.socket.map { .string($0) }
        case .dataDirectory: settings.dataDirectory.map { .string($0) }
        case .durability: .string(settings.durability.rawValue)
        case .storeKind: .string(settings.storeKind.rawValue)
        case .encryption: settings.encryption.map { .object($0.wholeObject) }
        }
    }
}
