import HeadgateData

/// Makes the barriers of one configurable kind.
public protocol BarrierFactory<BarrierType> {
    associatedtype BarrierType: ConfigurableBarrier

    /// Reads a configuration and notes what is wrong with it, before settings that hold it are in force (Behaviour S2). A
    /// kind that has nothing to say here takes any key, and is asked when the barrier is made.
    /// - Parameter timeZone: finds a time zone by its name, or the machine's for nil.
    func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?)
    /// Makes a barrier with its first settings; throws what is wrong with them.
    func create(context: BarrierContext, configuration: DataObject) throws -> BarrierType
    /// The scopes of a barrier whose settings name none (Behaviour B5). They are asked for again when dispatchers come.
    func defaultScopes() -> [BarrierScope]
}

extension BarrierFactory {
    public func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
        configuration.acceptEveryKey()
    }

    public func defaultScopes() -> [BarrierScope] { [.all] }

    /// The name under which settings know the kind.
    public var kind: String { BarrierType.id }
}
