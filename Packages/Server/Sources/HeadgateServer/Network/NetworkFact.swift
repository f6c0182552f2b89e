/// What the kernel tells of links, addresses and routes (rtnetlink(7)).
enum NetworkFact: Equatable {
    case link(index: Int32, NetworkInterface)
    case linkGone(index: Int32)
    case address(index: Int32, NetworkAddress)
    case addressGone(index: Int32, NetworkAddress)
    case defaultRoute(NetworkRoute)
    /// A default route was taken away or replaced. Which one is not always told, so the list has to be looked at.
    case defaultRoutesChanged
}
