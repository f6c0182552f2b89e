/// An observable that always has a present value, which can also be read.
public final class ObservableState<Value>: Observable<Value> {
    private let read: () -> Value

    fileprivate init(subject: Subject<Value>) {
        read = { subject.value }
        super.init(subject.subscribe)
    }

    /// The present value.
    public var value: Value { read() }
}

/// Wraps a state that its owner sets and others observe.
///
///     @StateSubject(.closed) private var state: ObservableState<BarrierState>
///     …
///     _state.value = .open
@propertyWrapper
public struct StateSubject<Value> {
    private let subject: Subject<Value>
    /// The observable that others read and subscribe to.
    public let wrappedValue: ObservableState<Value>

    public init(_ initial: Value) {
        subject = Subject(initial)
        wrappedValue = ObservableState(subject: subject)
    }

    /// The state. Setting it notifies all observers.
    public var value: Value {
        get { subject.value }
        nonmutating set { subject.value = newValue }
    }
}

/// A value with its observers.
private final class Subject<Value> {
    private let observers = Observers<Value>()

    /// The value. Observers may set it during a notification: each observer then gets the newest value last.
    var value: Value {
        didSet { observers.notify { value } }
    }

    init(_ initial: Value) {
        value = initial
    }

    func subscribe(_ observer: @escaping (Value) -> Void) -> any Disposable {
        defer { observer(value) }
        return observers.add(observer)
    }
}

/// A source that notifies observers of events. Unlike a ``StateSubject`` it stores no value.
public struct PulseSubject<Value> {
    private let observers = Observers<Value>()

    public init() {}

    /// An observable of the events after the subscription.
    public var observable: Observable<Value> {
        Observable(observers.add)
    }

    /// True if there are observers.
    public var isObserved: Bool { !observers.isEmpty }

    /// Notifies all present observers.
    public func send(_ value: Value) {
        observers.notify { value }
    }
}
