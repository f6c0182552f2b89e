import HeadgateData

/// What the barriers of one kind can be told, as a value.
public protocol BarrierConfiguration: Sendable {
    /// Reads what there is. What is wrong is noted with the reader and stands at its default.
    init(reading reader: ConfigurationReader)
}

extension BarrierConfiguration {
    /// Reads a configuration, or throws what is wrong with it first.
    public init(_ configuration: DataObject) throws(BarrierConfigurationFault) {
        let reader = ConfigurationReader(configuration)
        self.init(reading: reader)
        if let fault = reader.faults.first { throw fault }
    }
}
