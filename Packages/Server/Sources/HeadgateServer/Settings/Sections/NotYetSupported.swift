/// What the configuration file may hold one day and this version cannot do.
///
/// Settings that use any of it are refused. Ignoring it would be worse than a refusal: somebody may rely on a rule that
/// keeps private events back.
enum NotYetSupported {
    static let message = "not supported by this version yet"

    static let dispatcherKinds = ["worker"]
}
