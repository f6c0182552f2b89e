/// The reason why a daemon does not start, as a text for people.
public struct StartFault: Error, CustomStringConvertible, Equatable, Sendable {
    /// The key path of the setting at fault; empty if no setting is.
    public let path: String
    /// The cause, without the path.
    public let message: String

    public var description: String { path.isEmpty ? message : "\(path): \(message)" }

    init(_ message: String, at path: String = "") {
        (self.path, self.message) = (path, message)
    }
}
