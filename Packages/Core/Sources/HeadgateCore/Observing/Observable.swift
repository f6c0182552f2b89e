/// A value over time. Those who subscribe are told the present value, where there is one, and every later one.
///
/// Observables live on the scheduler and are not `Sendable` (Behaviour B11).
public class Observable<Value> {
    private let onSubscribe: (@escaping (Value) -> Void) -> any Disposable

    /// An observable made of what to do with each new observer.
    public init(_ onSubscribe: @escaping (@escaping (Value) -> Void) -> any Disposable) {
        self.onSubscribe = onSubscribe
    }

    /// Calls `observer` with the present value and every later one, until the result is disposed of.
    public func subscribe(_ observer: @escaping (Value) -> Void) -> any Disposable {
        onSubscribe(observer)
    }

    /// The same values, each changed by `transform`.
    public func map<Mapped>(_ transform: @escaping (Value) -> Mapped) -> Observable<Mapped> {
        Observable<Mapped> { observer in self.subscribe { observer(transform($0)) } }
    }

    /// The same values, each changed by `transform`, without those that it turns into nil.
    public func compactMap<Mapped>(_ transform: @escaping (Value) -> Mapped?) -> Observable<Mapped> {
        Observable<Mapped> { observer in
            self.subscribe { value in
                if let mapped = transform(value) { observer(mapped) }
            }
        }
    }
}

extension Observable where Value: Equatable {
    /// The same values without those that equal the one before.
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

/// Observables made of other things.
public enum Observables {
    /// One value, for ever.
    public static func just<Value>(_ value: Value) -> Observable<Value> {
        Observable { observer in
            observer(value)
            return DisposeAction {}
        }
    }

    /// What a reading gives, again and again, for a state that nobody announces: at once, and from then on each time that it is
    /// another one. It is read as long as somebody observes it.
    /// - Parameters:
    ///   - interval: the time between two readings.
    ///   - scheduler: where it is read; that of a barrier's context, say.
    ///   - read: gives the present value. It must not wait for anything.
    public static func every<Value: Equatable>(
        _ interval: Duration, on scheduler: any Scheduler, _ read: @escaping () -> Value
    ) -> Observable<Value> {
        Observable { observer in
            let polling = Polling(interval, on: scheduler, read, observer)
            polling.look()
            return DisposeAction { polling.end() }
        }
    }

    /// Nothing, ever.
    public static func never<Value>() -> Observable<Value> {
        Observable { _ in DisposeAction {} }
    }
}

/// Reads a value again and again for one observer.
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
        // An interval of nothing would keep the scheduler busy with this alone.
        self.interval = max(interval, .milliseconds(1))
        (self.scheduler, self.read, self.observer) = (scheduler, read, observer)
    }

    func look() {
        guard !isOver else { return }
        next = scheduler.schedule(at: scheduler.now + interval) { [weak self] in self?.look() }
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

/// Those who observe something. They may come and go while they are told.
final class Observers<Value> {
    private var observers: [Int: (Value) -> Void] = [:]
    private var nextKey = 0

    var isEmpty: Bool { observers.isEmpty }

    /// Adds one, until the result is disposed of.
    func add(_ observer: @escaping (Value) -> Void) -> any Disposable {
        let key = nextKey
        nextKey += 1
        observers[key] = observer
        return DisposeAction { [weak self] in self?.observers[key] = nil }
    }

    /// Tells each one, those first that came first, what `value` is when its turn comes.
    func tell(_ value: () -> Value) {
        guard !isEmpty else { return }
        for key in observers.keys.sorted() {
            observers[key]?(value())
        }
    }
}

/// Something that goes on until it is disposed of: a subscription, a timer.
public protocol Disposable: AnyObject {
    /// Ends it. Doing so again changes nothing.
    func dispose()
}

/// Runs a piece of work when it is disposed of, once.
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
