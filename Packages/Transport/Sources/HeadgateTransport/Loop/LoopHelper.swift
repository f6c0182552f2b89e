/// A source of work that the loop's own thread does between two turns, such as a write to the disk. Handing the work to
/// another thread would be slower. If the work takes long, another thread takes the loop over.
///
/// The two threads then exchange their roles: the loop's former thread does the work of the other one.
public protocol LoopHelper: AnyObject, Sendable {
    /// Called on the loop at the end of a turn.
    /// - Returns: the work to do now, which must not use the loop; nil for none.
    func turnEnded() -> (() -> Void)?
    /// Called on the loop when the work is done, by the thread that owns the loop by then.
    /// - Parameter inPlace: true if the thread that did the work still owns the loop.
    func workEnded(inPlace: Bool)
    /// Called on the former thread of the loop when another thread has taken the loop over. The former thread does the
    /// other thread's work in this call.
    /// - Returns: true if it has taken the loop over again (``EventLoop/takeOver(ifGoneFor:)``); false if there is
    ///   nothing left to do.
    func exchangeRoles() -> Bool
}
