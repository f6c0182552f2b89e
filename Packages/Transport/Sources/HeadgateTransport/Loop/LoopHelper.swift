/// Work for the loop's own thread between two turns, where handing it to another thread would be slower. If the work
/// takes long, another thread takes the loop over.
///
/// The two threads then exchange their roles: the loop's former thread does the work of the other one.
public protocol LoopHelper: AnyObject, Sendable {
    /// Called on the loop at the end of a turn.
    /// - Returns: the work to do now, which must not use the loop; nil for none.
    func turnEnded() -> (() -> Void)?
    /// Called on the loop when the work is done, by the thread that owns the loop by then.
    /// - Parameter inPlace: true if that is the thread that did the work.
    func workEnded(inPlace: Bool)
    /// Called on the former thread of the loop when another thread has taken it over. It does the other thread's work
    /// from then on.
    /// - Returns: true if it has taken the loop over again (``EventLoop/takeOver(ifGoneFor:)``); false if there is
    ///   nothing left to do.
    func exchangeRoles() -> Bool
}
