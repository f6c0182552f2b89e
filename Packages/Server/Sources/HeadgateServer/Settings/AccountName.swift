import Glibc

/// The look-up of user and group IDs in the system's user and group databases.
enum AccountName {
    /// Returns the user ID of a user's name, or nil if there is no such user.
    static func uid(_ name: String) -> UInt32? {
        guard !name.utf8.contains(0) else { return nil }
        var entry = passwd()
        return lookUp(for: name) { name, buffer, size, found in
            var result: UnsafeMutablePointer<passwd>?
            let code = getpwnam_r(name, &entry, buffer, size, &result)
            found = result.map { $0.pointee.pw_uid }
            return code
        }
    }

    /// Returns the group ID of a group's name, or nil if there is no such group.
    static func gid(_ name: String) -> UInt32? {
        guard !name.utf8.contains(0) else { return nil }
        var entry = group()
        return lookUp(for: name) { name, buffer, size, found in
            var result: UnsafeMutablePointer<group>?
            let code = getgrnam_r(name, &entry, buffer, size, &result)
            found = result.map { $0.pointee.gr_gid }
            return code
        }
    }

    /// Repeats a look-up with a larger buffer as long as the buffer is too small. A group may have many members.
    private static func lookUp(
        for name: String,
        _ find: (String, UnsafeMutablePointer<CChar>, Int, inout UInt32?) -> Int32
    ) -> UInt32? {
        var size = 1 << 10
        while size <= mostBytes {
            var found: UInt32?
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let code = find(name, buffer, size, &found)
            guard code == ERANGE else { return found }
            size *= 4
        }
        return nil
    }

    /// The most bytes of one entry.
    private static let mostBytes = 1 << 24
}
