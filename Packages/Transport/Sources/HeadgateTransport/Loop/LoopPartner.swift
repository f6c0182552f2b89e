/// Has something done by the loop's own thread between two turns, where that is quicker than to hand it to another thread and
/// wait for it; and has another thread at hand that takes the loop over should it take longer than it usually does.
///
/// The two threads then have changed their parts: the one that was the loop's does what the other was for.
public protocol LoopPartner: AnyObject, Sendable {
    /// The turn is over. Called on the loop.
    /// - Returns: what is to be done now, which touches nothing of the loop's; nil when there is nothing.
    func turnEnded() -> (() -> Void)?
    /// That is done. Called on the loop, by whichever thread has it by now.
    /// - Parameter inPlace: whether the loop's thread still is the one that has done it.
    func workEnded(inPlace: Bool)
    /// The calling thread has lost the loop to the other one, and does from now on what that was for.
    /// - Returns: true when it has taken the loop over in its turn (``EventLoop/takeOver(ifGoneFor:)``), false when there
    ///   is nothing to do any more.
    func changePlaces() -> Bool
}
