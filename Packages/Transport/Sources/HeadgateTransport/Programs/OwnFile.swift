import Glibc

/// Functions that open a program's own files for writing, in directories to which other users may be able to write.
///
/// A symbolic link is never followed, a file of another user is never opened, and a new file replaces nothing (Behaviour
/// X8). All functions return a descriptor, or -1 with `errno`.
public enum OwnFile {
    /// Opens a file for reading and writing, and creates it with mode 0600 if it is missing. Fails with `ELOOP` for a
    /// symbolic link, and with `EPERM` for a file that is not regular or belongs to another user.
    public static func open(_ path: String) -> Int32 {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
        let descriptor = Glibc.open(path, flags, 0o600)
        guard descriptor >= 0 else { return -1 }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            close(descriptor)
            errno = EPERM
            return -1
        }
        return descriptor
    }

    /// Creates a file with mode 0600. First removes an existing file of the name, for example of an earlier run. Of a
    /// link only the link is removed.
    public static func create(_ path: String) -> Int32 {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        for _ in 0..<2 {
            let descriptor = Glibc.open(path, flags, 0o600)
            if descriptor >= 0 || errno != EEXIST { return descriptor }
            guard unlink(path) == 0 || errno == ENOENT else { return -1 }
        }
        errno = EEXIST
        return -1
    }

    /// Returns true if an open file may be written to: it is regular, and belongs to this user or to the owner of its
    /// directory. A file of any other user is not trusted: that user may have put it there.
    public static func isTrusted(_ descriptor: Int32, at path: String) -> Bool {
        var (own, above) = (stat(), stat())
        guard fstat(descriptor, &own) == 0, own.st_mode & S_IFMT == S_IFREG else { return false }
        return own.st_uid == geteuid() || stat(directory(of: path), &above) == 0 && own.st_uid == above.st_uid
    }

    /// Returns true if other users can put files into the directory of a path: its mode allows it, or its owner is
    /// neither root nor this user.
    public static func isInSharedDirectory(_ path: String) -> Bool {
        var status = stat()
        guard stat(directory(of: path), &status) == 0 else { return false }
        let isOfOthers = status.st_uid != 0 && status.st_uid != geteuid()
        return isOfOthers || status.st_mode & (S_IWGRP | S_IWOTH) != 0
    }

    private static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }
}
