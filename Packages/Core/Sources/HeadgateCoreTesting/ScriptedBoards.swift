import HeadgateCore
import HeadgateData

/// Boards whose activations end when the test ends them.
public final class ScriptedBoards: BoardActivator {
    /// The requested activations in order: the board, and the dispatcher that it is for.
    public private(set) var requested: [(board: String, dispatcher: String)] = []
    /// The number of activations that were cancelled.
    public private(set) var withdrawn = 0
    /// The boards that a process serves.
    public var served: Set<String> = [] { didSet { servingSubject.send(()) } }
    public var servingChanges: Observable<Void> { servingSubject.observable }
    private let servingSubject = PulseSubject<Void>()

    private var waiting: [Task] = []

    private final class Task: Disposable {
        var then: ((ActivationOutcome) -> Void)?
        let onDispose: (Task) -> Void

        init(_ then: @escaping (ActivationOutcome) -> Void, onDispose: @escaping (Task) -> Void) {
            self.then = then
            self.onDispose = onDispose
        }

        func dispose() {
            guard then != nil else { return }
            then = nil
            onDispose(self)
        }
    }

    public init() {}

    /// The number of running activations.
    public var inProgress: Int { waiting.count }

    public func activate(
        _ board: String, for dispatcherId: String, then: @escaping (ActivationOutcome) -> Void
    ) -> any Disposable {
        requested.append((board, dispatcherId))
        let task = Task(then) { [weak self] task in
            self?.withdrawn += 1
            self?.waiting.removeAll { $0 === task }
        }
        waiting.append(task)
        return task
    }

    public func isServed(_ board: String) -> Bool {
        served.contains(board)
    }

    /// Ends the oldest running activation.
    public func end(_ outcome: ActivationOutcome) {
        guard !waiting.isEmpty else { return }
        let task = waiting.removeFirst()
        let then = task.then
        task.then = nil
        then?(outcome)
    }

    /// Completes the oldest running activation.
    public func complete(_ output: DataItem? = nil) {
        end(.completed(done: true, output: output))
    }
}
