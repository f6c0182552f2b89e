/// Why an event is not transformed.
public enum TransformationFault: Error, Equatable, Sendable {
    /// No transformer is registered under this id.
    case unknownTransformer(String)
    /// `when` cannot be asked.
    case rule(RuleFault)
    /// `id`, `seq`, `time`, `received_at` and `attempt` stay what they are, and an event is never without a name.
    case cannotBeChanged(EventMember)
    /// A path leads through something that is no object, and no array with such an element.
    case noWay
    /// The event would have no name, an empty key, or something else than an object as its data or context.
    case notAnEvent
}
