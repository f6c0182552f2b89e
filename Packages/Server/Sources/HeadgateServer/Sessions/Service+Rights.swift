/// Rights that the settings take away from those who are connected (Behaviour X1).
extension Service {
    /// Ends what a session holds by a right that it has lost: nothing new is told or given to it. What it has in hand it may
    /// finish, so that no event is sent again because of a change of the settings (Behaviour S3).
    /// - Returns: whether it held anything.
    func withdraw(_ group: MethodGroup, from session: Session) -> Bool {
        switch group {
        case .track: return false
        case .observe: return watches.sessionEnded(session)
        case .control: return gate.remoteBarriers.ownerLeft(session.number)
        case .serve:
            let worked = workforces.dismiss(session.number)
            let served = boards.dismiss(session.number)
            return worked || served
        }
    }
}
