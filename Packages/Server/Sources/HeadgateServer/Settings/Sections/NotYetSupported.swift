/// What the configuration file may hold one day and this version cannot do.
///
/// Settings that use any of it are refused. Ignoring it would be worse than a refusal: somebody may rely on a rule that
/// keeps private events back.
enum NotYetSupported {
    static let message = "not supported by this version yet"

    static let sections = ["gateway"]
    static let dispatcherKinds = ["worker"]
    static let dispatcherKeys = ["activation_barrier"]
    static let headerSources = ["output"]
}

extension SettingsReader {
    /// Notes each of these keys that is used.
    func refuse(_ keys: [String]) {
        for key in keys where item(key) != nil { fault(key, "", NotYetSupported.message) }
    }
}
