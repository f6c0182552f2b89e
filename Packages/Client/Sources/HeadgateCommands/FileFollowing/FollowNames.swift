import Glibc

/// The paths and patterns of followed files.
struct FollowNames {
    /// The files to follow whether they exist or not.
    private(set) var paths: [String] = []
    /// The patterns of a shell, such as `/var/log/app/*.log`.
    private(set) var patterns: [String] = []

    /// Sorts names into paths and patterns. A name with a sign of patterns is a path if such a file exists.
    init(_ names: [String]) {
        for name in names {
            let isPattern = name.contains { "*?[".contains($0) } && access(name, F_OK) != 0
            if isPattern { patterns.append(name) } else if !paths.contains(name) { paths.append(name) }
        }
    }

    /// True if there is one file, and no other can come.
    var isSingle: Bool { paths.count == 1 && patterns.isEmpty }

    /// Returns the files that match a pattern and are to be followed.
    /// - Parameters:
    ///   - known: the paths that are followed already.
    ///   - followed: the files that are followed already, whatever their names.
    func newFiles(besides known: Set<String>, _ followed: Set<FollowerPosition.File>) -> [String] {
        let found = patterns.flatMap(FollowNames.matches)
        let own = FollowNames.withoutRotated(Array(Set(found)).sorted() + known)
        return own.filter { path in
            var status = stat()
            guard !known.contains(path), stat(path, &status) == 0 else { return false }
            guard [S_IFREG, S_IFIFO].contains(status.st_mode & S_IFMT) else { return false }
            return !followed.contains(FollowerPosition.File(status))
        }
    }

    /// Leaves out compressed files, and files that are rotated from another one of the paths: the follower of that one
    /// reads them.
    static func withoutRotated(_ paths: [String]) -> [String] {
        paths.filter { path in
            guard !entry(path, "").isCompressed else { return false }
            return !paths.contains { $0 != path && path.hasPrefix($0) && entry(path, $0).isRotated }
        }
    }

    /// Returns a path as an entry beside another path.
    private static func entry(_ path: String, _ other: String) -> RotatedFiles.Entry {
        let file = FollowerPosition.File(device: 0, inode: 0)
        return RotatedFiles.Entry(suffix: String(path.dropFirst(other.count)), file: file, modified: 0)
    }

    private static func matches(_ pattern: String) -> [String] {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob(pattern, 0, nil, &found) == 0, let names = found.gl_pathv else { return [] }
        return (0..<Int(found.gl_pathc)).compactMap { names[$0].map { String(cString: $0) } }
    }
}
