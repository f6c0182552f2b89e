/// The lists of which the kernel's view of the network is made, in the order in which they are asked for.
enum NetworkList: CaseIterable {
    case links
    case addresses
    case routes
}
