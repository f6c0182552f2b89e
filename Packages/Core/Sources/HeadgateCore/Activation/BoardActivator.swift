/// Activates boards for dispatchers (Behaviour A9). It lives on the worker.
public protocol BoardActivator: AnyObject {
    /// Activates a board, waiting for it to be served as long as it takes.
    /// - Parameter then: told once what came of it, never before this returns, and not at all once the result is disposed
    ///   of, which gives the activation up.
    func activate(
        _ board: String, for dispatcherId: String, then: @escaping (ActivationOutcome) -> Void
    ) -> any Disposable
    /// Whether anybody serves a board.
    func isServed(_ board: String) -> Bool
    /// Tells each time that a process begins or ends to serve a board.
    var servingChanges: Observable<Void> { get }
}
