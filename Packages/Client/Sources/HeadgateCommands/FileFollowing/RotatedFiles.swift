import Glibc

/// The files in a folder whose names begin with that of a followed file. Rotated files are among them.
struct RotatedFiles {
    struct Entry: Equatable {
        /// The part of the name after the followed file's name.
        let suffix: String
        let file: FollowerPosition.File
        /// The time of the last write, in nanoseconds since 1970.
        let modified: Int

        /// True if the suffix has only digits and separators of digits, as in `log.1` and `log-20260301`, and perhaps
        /// the extension of a compression.
        var isRotated: Bool {
            guard let first = stem.first, !first.isNumber else { return false }
            return stem.contains(where: \.isNumber) && stem.allSatisfy { $0.isNumber || "-._:T".contains($0) }
        }

        var isCompressed: Bool { stem != suffix }

        /// The suffix without the extension of a compression.
        var stem: String {
            let end = [".gz", ".xz", ".bz2", ".zst", ".lz4", ".Z"].first { suffix.hasSuffix($0) }
            return String(suffix.dropLast(end?.count ?? 0))
        }

        /// Returns true if this file is older than another one. Of two files with one time, the older one has the
        /// higher number or the earlier date.
        func isOlder(than other: Entry) -> Bool {
            guard modified == other.modified else { return modified < other.modified }
            if let number, let second = other.number { return number > second }
            return suffix < other.suffix
        }

        /// The number of a file like `log.12`. More digits are a date.
        private var number: Int? { stem.count <= 5 ? Int(stem.dropFirst()) : nil }
    }

    let entries: [Entry]
    private let path: String

    init(of path: String, _ entries: [Entry]) {
        (self.path, self.entries) = (path, entries)
    }

    /// Reads the folder. Returns no entries if the folder may not be read.
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
            entries.append(Entry(suffix: suffix, file: FollowerPosition.File(status), modified: status.modified))
        }
        return entries
    }

    /// Returns the path of a file, or nil if it has no name here. A compressed file with the same inode is another
    /// file.
    func path(of file: FollowerPosition.File) -> String? {
        entries.first { $0.file == file && !$0.isCompressed }.map { path + $0.suffix }
    }

    /// Returns the files that were renamed after a file, oldest first. All were written to later than it.
    /// - Parameter modified: the last write of the file, for a file without a name.
    func since(_ file: FollowerPosition.File, modified: Int) -> [Entry] {
        let own = entries.first { $0.file == file }
        let names = Set(entries.map(\.suffix))
        let later = entries.filter { entry in
            // A file that is being compressed exists twice.
            guard entry.isRotated, !(entry.isCompressed && names.contains(entry.stem)) else { return false }
            return own.map { $0.isOlder(than: entry) } ?? (entry.modified > modified)
        }
        return later.sorted { $0.isOlder(than: $1) }
    }
}

extension stat {
    /// The time of the last write, in nanoseconds since 1970.
    var modified: Int { st_mtim.tv_sec * 1_000_000_000 + st_mtim.tv_nsec }
}
