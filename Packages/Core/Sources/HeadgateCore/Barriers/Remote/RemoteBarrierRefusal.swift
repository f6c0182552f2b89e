/// Why a client may not do something to a barrier.
public enum RemoteBarrierRefusal: Error, Sendable, Equatable {
    /// There is no barrier of this id.
    case unknown
    /// It is configured or built in, or the id is kept for such a one.
    case notRemote
    /// It belongs to somebody else, who is named.
    case belongs(to: String)
    /// Its owner left it behind: registering it takes it over.
    case abandoned
    /// There is no such dispatcher.
    case unknownDispatcher(String)
    /// There are as many remote barriers as there may be.
    case tooMany(most: Int)
}
