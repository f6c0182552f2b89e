import Glibc

/// The files in a folder whose names begin with one that is followed. Among them are those that had it before.
struct RotatedFiles {
    struct Entry: Equatable {
        /// What its name has behind the followed one.
        let suffix: String
        let file: FollowedPlace.File
        /// When it was written to last, in nanoseconds since 1970.
        let modified: Int

        /// Whether the name is made of the followed one, digits and what stands between digits, as for `log.1` and
        /// `log-20260301`, also with the end that says how it is compressed.
        var isRotated: Bool {
            guard let first = stem.first, !first.isNumber else { return false }
            return stem.contains(where: \.isNumber) && stem.allSatisfy { $0.isNumber || "-._:T".contains($0) }
        }

        var isCompressed: Bool { stem != suffix }

        /// The suffix without that end.
        var stem: String {
            let end = [".gz", ".xz", ".bz2", ".zst", ".lz4", ".Z"].first { suffix.hasSuffix($0) }
            return String(suffix.dropLast(end?.count ?? 0))
        }

        /// Whether it is the older of two that were renamed. Of one moment it is the one with the higher number, or the earlier
        /// date.
        func isOlder(than other: Entry) -> Bool {
            guard modified == other.modified else { return modified < other.modified }
            if let number, let second = other.number { return number > second }
            return suffix < other.suffix
        }

        /// Of `log.12`; more digits are a date.
        private var number: Int? { stem.count <= 5 ? Int(stem.dropFirst()) : nil }
    }

    let entries: [Entry]
    private let path: String

    init(of path: String, _ entries: [Entry]) {
        (self.path, self.entries) = (path, entries)
    }

    /// Reads the folder; of one that must not be read nothing is known.
    init(beside path: String) throws(FollowFault) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") + "/" : "./"
        self.init(of: path, try RotatedFiles.read(folder, parts.last.map(String.init) ?? ""))
    }

    private static func read(_ folder: String, _ name: String) throws(FollowFault) -> [Entry] {
        guard let directory = opendir(folder) else {
            if errno == EACCES { return [] }
            throw FollowFault("read", folder)
        }
        defer { closedir(directory) }
        var entries: [Entry] = []
        while let entry = readdir(directory) {
            let other = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var status = stat()
            guard other.hasPrefix(name), stat(folder + other, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                continue
            }
            let suffix = String(other.dropFirst(name.count))
            entries.append(Entry(suffix: suffix, file: FollowedPlace.File(status), modified: status.modified))
        }
        return entries
    }

    /// The path of a file; nil when it has no name here. One that is compressed has only got its number.
    func path(of file: FollowedPlace.File) -> String? {
        entries.first { $0.file == file && !$0.isCompressed }.map { path + $0.suffix }
    }

    /// Those that were renamed after a file was, the oldest first. All are written to later than it was.
    /// - Parameter modified: when that was, for one that has no name any more.
    func since(_ file: FollowedPlace.File, modified: Int) -> [Entry] {
        let own = entries.first { $0.file == file }
        let names = Set(entries.map(\.suffix))
        let later = entries.filter { entry in
            // What is being compressed is there twice.
            guard entry.isRotated, !(entry.isCompressed && names.contains(entry.stem)) else { return false }
            return own.map { $0.isOlder(than: entry) } ?? (entry.modified > modified)
        }
        return later.sorted { $0.isOlder(than: $1) }
    }
}

extension stat {
    /// When the file was written to last, in nanoseconds since 1970.
    var modified: Int { st_mtim.tv_sec * 1_000_000_000 + st_mtim.tv_nsec }
}
