/// Something that the kernel says on a routing netlink socket.
enum NetlinkMessage: Equatable {
    case fact(NetworkFact)
    /// The list that was asked for under this number is complete.
    case listEnded(UInt32)
    /// Something changed while the list was made: it may lack entries.
    case listInterrupted(UInt32)
    /// The list cannot be had, at least not now.
    case listRefused(UInt32)
    /// What came is no netlink message.
    case garbled
}
