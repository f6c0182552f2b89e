import HeadgateData

/// Makes the barriers of one configurable kind.
public protocol BarrierFactory<BarrierType> {
    associatedtype BarrierType: ConfigurableBarrier

    /// Makes a barrier with its first settings; throws what is wrong with them.
    func create(context: BarrierContext, configuration: DataObject) throws -> BarrierType
    /// The scopes of a barrier whose settings name none (Behaviour B5). They are asked for again when dispatchers come.
    func defaultScopes() -> [BarrierScope]
}

extension BarrierFactory {
    public func defaultScopes() -> [BarrierScope] { [.all] }

    /// The name under which settings know the kind.
    public var kind: String { BarrierType.id }
}
