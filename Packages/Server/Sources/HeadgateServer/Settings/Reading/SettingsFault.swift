/// What is wrong with one place in the settings: a fault, which keeps them from being used, or a warning
/// (Behaviour S2).
///
/// The message never repeats a value, which may be a secret (Behaviour X4).
public struct SettingsFault: Error, Hashable, Sendable {
    /// The place, like `dispatchers.collect.endpoint` or `access.observe.uids[1]`; empty for the settings as a whole.
    public var path: String
    /// What is wrong there and what is allowed, for people.
    public var message: String

    public init(path: String, message: String) {
        self.path = path
        self.message = message
    }
}

extension SettingsFault: CustomStringConvertible {
    /// `path: message`, or the message alone when it is about the whole.
    public var description: String {
        path.isEmpty ? message : "\(path): \(message)"
    }
}
