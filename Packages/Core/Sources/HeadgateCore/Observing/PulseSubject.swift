/// Tells observers of things that happen. Unlike a ``StateSubject`` it remembers none of them.
public struct PulseSubject<Value> {
    private let observers = Observers<Value>()

    public init() {}

    /// What happens from the subscription on.
    public var observable: Observable<Value> {
        Observable(observers.add)
    }

    /// Whether anybody observes.
    public var isObserved: Bool { !observers.isEmpty }

    /// Tells all who observe now.
    public func send(_ value: Value) {
        observers.tell { value }
    }
}
