/// Tells observers of things that happen. Unlike a ``StateSubject`` it remembers none of them.
public struct PulseSubject<Value> {
    private let last = StateSubject<Value?>(nil)

    public init() {}

    /// What will happen from the subscription on.
    public var observable: Observable<Value> {
        Observable { [last] observer in
            var isListening = false
            defer { isListening = true }
            return last.wrappedValue.subscribe { value in
                if isListening, let value { observer(value) }
            }
        }
    }

    /// Tells it to all who are subscribed now.
    public func send(_ value: Value) {
        last.value = value
    }
}
