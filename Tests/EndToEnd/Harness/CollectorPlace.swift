import Foundation

/// Where a collector listens.
struct CollectorPlace: Sendable {
    /// An IPv4 address.
    var address = "127.0.0.1"
    /// The namespace that has this address; nil: the test's own.
    var namespace: NetworkNamespace?

    /// A socket that belongs there.
    func socket() throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let open = { @Sendable in try SystemError.check(Glibc.socket(AF_INET, kind, 0), "socket") }
        return try namespace?.inside(open) ?? open()
    }
}
