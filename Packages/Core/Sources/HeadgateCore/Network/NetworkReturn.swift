/// Tells when the network comes back. That it is known for the first time is no return. Pure.
struct NetworkReturn {
    private var isAway = false

    /// Takes in how things stand, and says whether the network has just come back.
    mutating func isReturn(to state: NetworkState) -> Bool {
        switch state {
        case .disconnected: isAway = true
        case .connected where isAway:
            isAway = false
            return true
        case .connected, .unknown: break
        }
        return false
    }
}
