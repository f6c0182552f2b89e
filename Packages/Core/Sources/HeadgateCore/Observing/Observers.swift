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
