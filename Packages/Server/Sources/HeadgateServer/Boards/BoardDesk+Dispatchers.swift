import HeadgateCore
import HeadgateData

/// Boards that dispatchers activate (Behaviour A9).
extension BoardDesk: BoardActivator {
    func activate(
        _ board: String, for dispatcherId: String, then: @escaping (ActivationOutcome) -> Void
    ) -> any Disposable {
        var request = ActivationRequest(board: board, mainboard: "dispatcher:\(dispatcherId)")
        request.input = ["dispatcher": .string(dispatcherId)]
        request.isBarrier = true
        request.wait = nil
        return DispatcherTask(request, at: self, then)
    }
}

/// An activation that a dispatcher may give up.
private final class DispatcherTask: Disposable {
    private weak var desk: BoardDesk?
    private var then: ((ActivationOutcome) -> Void)?
    private var activation: Int?

    init(_ request: ActivationRequest, at desk: BoardDesk, _ then: @escaping (ActivationOutcome) -> Void) {
        self.desk = desk
        self.then = then
        // The service itself is held to no limit.
        activation = try? desk.activate(request) { [weak self, worker = desk.worker] outcome in
            worker.soon { self?.ended(outcome) }
        }
    }

    func dispose() {
        then = nil
        guard let activation else { return }
        self.activation = nil
        desk?.cancel(activation)
    }

    private func ended(_ outcome: ActivationOutcome) {
        activation = nil
        let then = self.then
        self.then = nil
        then?(outcome)
    }
}
