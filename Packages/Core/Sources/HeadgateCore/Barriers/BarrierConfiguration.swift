import HeadgateData

/// What the barriers of one kind can be told, as a value.
public protocol BarrierConfiguration: Sendable {
    /// Reads what there is. What is wrong is noted with the reader and stands at its default.
    init(reading reader: SettingsReader)
}

extension BarrierConfiguration {
    /// Reads a configuration, or throws what is wrong with it first.
    public init(_ configuration: DataObject) throws(BarrierConfigurationFault) {
        let reader = SettingsReader(configuration)
        self.init(reading: reader)
        if let fault = reader.findings.faults.first {
            throw BarrierConfigurationFault(key: fault.path, message: fault.message)
        }
    }
}

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
