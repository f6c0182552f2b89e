/// An observable that always has a value, which can be read at any time.
public final class ObservableState<Value>: Observable<Value> {
    private let read: () -> Value

    fileprivate init(subject: Subject<Value>) {
        read = { subject.value }
        super.init(subject.subscribe)
    }

    /// The present value.
    public var value: Value { read() }
}

/// Wraps a state that its owner sets and others observe:
///
///     @StateSubject(.closed) private var state: ObservableState<BarrierState>
///     …
///     _state.value = .open
@propertyWrapper
public struct StateSubject<Value> {
    private let subject: Subject<Value>
    /// What others read and subscribe to.
    public let wrappedValue: ObservableState<Value>

    public init(_ initial: Value) {
        subject = Subject(initial)
        wrappedValue = ObservableState(subject: subject)
    }

    /// The state; setting it tells every observer.
    public var value: Value {
        get { subject.value }
        nonmutating set { subject.value = newValue }
    }
}

/// The value and its observers.
private final class Subject<Value> {
    private let observers = Observers<Value>()

    /// Observers may set the value again while they are told: each hears the newest value last.
    var value: Value {
        didSet { observers.tell { value } }
    }

    init(_ initial: Value) {
        value = initial
    }

    func subscribe(_ observer: @escaping (Value) -> Void) -> any Disposable {
        defer { observer(value) }
        return observers.add(observer)
    }
}

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
