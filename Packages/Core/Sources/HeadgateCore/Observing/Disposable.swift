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
