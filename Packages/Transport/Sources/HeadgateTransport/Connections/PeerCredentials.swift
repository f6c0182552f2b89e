import CUV
import Glibc

/// The credentials of a Unix socket's peer, as the kernel recorded them at connect (Behaviour P2, X1).
public struct PeerCredentials: Sendable, Hashable {
    /// The process id; 0 if the process is in another namespace.
    public let pid: Int32
    public let uid: UInt32
    public let gid: UInt32
    /// The supplementary groups; empty if the kernel does not report them.
    public let groups: [UInt32]

    public init(pid: Int32, uid: UInt32, gid: UInt32, groups: [UInt32]) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }

    init(of socket: borrowing Descriptor) throws(TransportError) {
        // The layout of C's `struct ucred`: pid, uid and gid, of 32 bits each.
        let identity = Self.option(SO_PEERCRED, of: socket.number, count: 3)
        guard let identity, identity.count == 3 else { throw .last("getsockopt SO_PEERCRED") }
        self.init(
            pid: Int32(bitPattern: identity[0]), uid: identity[1], gid: identity[2],
            groups: Self.groups(of: socket.number))
    }

    private static func groups(of socket: Int32) -> [UInt32] {
        option(SO_PEERGROUPS, of: socket, count: 64) ?? option(SO_PEERGROUPS, of: socket, count: mostGroups) ?? []
    }

    /// Returns a socket option that is a list of 32-bit numbers. Returns nil with `errno` if the call fails or the list
    /// has more than `count` numbers.
    private static func option(_ name: Int32, of socket: Int32, count: Int) -> [UInt32]? {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: count) { numbers in
            var size = socklen_t(count * MemoryLayout<UInt32>.size)
            guard getsockopt(socket, SOL_SOCKET, name, numbers.baseAddress, &size) == 0 else { return nil }
            return Array(numbers[..<(Int(size) / MemoryLayout<UInt32>.size)])
        }
    }

    /// Linux's NGROUPS_MAX.
    private static let mostGroups = 65_536
}
