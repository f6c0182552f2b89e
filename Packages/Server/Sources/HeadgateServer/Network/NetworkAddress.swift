/// An address of global scope, as the kernel knows it.
struct NetworkAddress: Hashable {
    /// `AF_INET` or `AF_INET6`.
    var family: UInt8
    var bytes: [UInt8]
    var prefixLength: UInt8
}
