import HeadgateCore
import HeadgateData

/// Boards that end when the test says so.
public final class ScriptedBoards: BoardActivator {
    /// Who was asked to be activated, and for which dispatcher, in that order.
    public private(set) var asked: [(board: String, dispatcher: String)] = []
    /// How many were given up before they ended.
    public private(set) var givenUp = 0
    /// The boards that somebody serves.
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

    /// How many have not ended.
    public var underWay: Int { waiting.count }

    public func activate(
        _ board: String, for dispatcherId: String, then: @escaping (ActivationOutcome) -> Void
    ) -> any Disposable {
        asked.append((board, dispatcherId))
        let task = Task(then) { [weak self] task in
            self?.givenUp += 1
            self?.waiting.removeAll { $0 === task }
        }
        waiting.append(task)
        return task
    }

    public func isServed(_ board: String) -> Bool {
        served.contains(board)
    }

    /// Ends the oldest that has not ended.
    public func end(_ outcome: ActivationOutcome) {
        guard !waiting.isEmpty else { return }
        let task = waiting.removeFirst()
        let then = task.then
        task.then = nil
        then?(outcome)
    }

    /// The oldest completes.
    public func complete(_ output: DataItem? = nil) {
        end(.completed(done: true, output: output))
    }
}
