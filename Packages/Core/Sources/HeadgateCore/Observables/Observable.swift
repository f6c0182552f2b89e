/// A value over time. A new observer gets the present value, if there is one, and every later value.
///
/// Observables live on the scheduler and are not `Sendable` (Behaviour B11).
public class Observable<Value> {
    private let onSubscribe: (@escaping (Value) -> Void) -> any Disposable

    /// Creates an observable from a function that adds an observer.
    public init(_ onSubscribe: @escaping (@escaping (Value) -> Void) -> any Disposable) {
        self.onSubscribe = onSubscribe
    }

    /// Calls `observer` with the present value and every later one, until the result is disposed.
    public func subscribe(_ observer: @escaping (Value) -> Void) -> any Disposable {
        onSubscribe(observer)
    }

    /// Returns an observable with the transformed values.
    public func map<Mapped>(_ transform: @escaping (Value) -> Mapped) -> Observable<Mapped> {
        Observable<Mapped> { observer in self.subscribe { observer(transform($0)) } }
    }

    /// Returns an observable with the transformed values that are not nil.
    public func compactMap<Mapped>(_ transform: @escaping (Value) -> Mapped?) -> Observable<Mapped> {
        Observable<Mapped> { observer in
            self.subscribe { value in
                if let mapped = transform(value) { observer(mapped) }
            }
        }
    }
}

extension Observable where Value: Equatable {
    /// Returns an observable without values that equal the previous one.
    public func distinct() -> Observable<Value> {
        Observable { observer in
            var last: Value?
            return self.subscribe { value in
                guard last != value else { return }
                last = value
                observer(value)
            }
        }
    }
}

/// Functions that create observables.
public enum Observables {
    /// Returns an observable with a single value that never changes.
    public static func just<Value>(_ value: Value) -> Observable<Value> {
        Observable { observer in
            observer(value)
            return DisposeAction {}
        }
    }

    /// Returns an observable of a value that has to be polled. It emits the value at once, and after that each time the
    /// value has changed. The value is read only while it is observed.
    /// - Parameters:
    ///   - interval: the time between two reads.
    ///   - scheduler: the scheduler to read on, such as that of a barrier's context.
    ///   - read: returns the present value. It must not block.
    public static func every<Value: Equatable>(
        _ interval: Duration, on scheduler: any Scheduler, _ read: @escaping () -> Value
    ) -> Observable<Value> {
        Observable { observer in
            let polling = Polling(interval, on: scheduler, read, observer)
            polling.poll()
            return DisposeAction { polling.end() }
        }
    }

    /// Returns an observable that never emits a value.
    public static func never<Value>() -> Observable<Value> {
        Observable { _ in DisposeAction {} }
    }
}

/// The polling of a value for one observer.
private final class Polling<Value: Equatable> {
    private let interval: Duration
    private let scheduler: any Scheduler
    private let read: () -> Value
    private let observer: (Value) -> Void
    private var last: Value?
    private var next: (any Disposable)?
    private var isOver = false

    init(
        _ interval: Duration, on scheduler: any Scheduler, _ read: @escaping () -> Value,
        _ observer: @escaping (Value) -> Void
    ) {
        // An interval of zero would keep the scheduler busy with this timer alone.
        self.interval = max(interval, .milliseconds(1))
        (self.scheduler, self.read, self.observer) = (scheduler, read, observer)
    }

    func poll() {
        guard !isOver else { return }
        next = scheduler.schedule(at: scheduler.now + interval) { [weak self] in self?.poll() }
        let value = read()
        guard value != last else { return }
        last = value
        observer(value)
    }

    func end() {
        isOver = true
        next?.dispose()
        next = nil
    }
}

/// A list of observers. Observers may be added and removed during a notification.
final class Observers<Value> {
    private var observers: [Int: (Value) -> Void] = [:]
    private var nextKey = 0

    var isEmpty: Bool { observers.isEmpty }

    /// Adds an observer until the result is disposed.
    func add(_ observer: @escaping (Value) -> Void) -> any Disposable {
        let key = nextKey
        nextKey += 1
        observers[key] = observer
        return DisposeAction { [weak self] in self?.observers[key] = nil }
    }

    /// Notifies the observers in the order of their subscription. `value` is evaluated for each of them.
    func notify(_ value: () -> Value) {
        guard !isEmpty else { return }
        for key in observers.keys.sorted() {
            observers[key]?(value())
        }
    }
}

/// Something that lasts until it is disposed: a subscription or a timer.
public protocol Disposable: AnyObject {
    /// Ends the subscription or stops the timer. Further calls have no effect.
    func dispose()
}

/// A disposable that runs a closure once, when it is disposed.
public final class DisposeAction: Disposable {
    private var action: (() -> Void)?

    public init(_ action: @escaping () -> Void) {
        self.action = action
    }

    public func dispose() {
        let action = self.action
        self.action = nil
        action?()
    }
}
