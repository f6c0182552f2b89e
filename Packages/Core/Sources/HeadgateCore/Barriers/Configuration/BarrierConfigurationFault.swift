/// Settings that a barrier cannot use.
public struct BarrierConfigurationFault: Error, Equatable, Sendable {
    /// The key that is wrong, relative to the barrier's configuration.
    public var key: String
    /// What is wrong, for people. It does not repeat the value.
    public var message: String

    public init(key: String, message: String) {
        self.key = key
        self.message = message
    }
}
