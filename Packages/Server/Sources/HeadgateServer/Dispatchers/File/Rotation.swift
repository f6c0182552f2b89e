import Glibc

/// The rotation of a full file: `events.ndjson` becomes `events.ndjson.1`, the newest rotated file, and the numbers of
/// the others rise by one (Behaviour K2).
///
/// A file with such a name that no dispatcher wrote keeps its name and content. The rotation skips its number.
struct Rotation {
    let path: String
    /// The number of rotated files to keep. With 0 the file is removed.
    let keep: Int

    /// Rotates the file, so that there is no file at the path. If it is interrupted at any point, no file is lost, and
    /// it can be run again.
    func run() throws(FileFault) {
        // A file with other contents existed before the dispatcher, so it is renamed and not removed.
        if keep > 0 || !EventLines.begin(path) {
            try moveUp()
        } else {
            guard unlink(path) == 0 else { throw .last }
        }
        removeSurplus()
        try ParentDirectory(of: path).sync()
    }

    private func moveUp() throws(FileFault) {
        // The renaming ends at the first free number: files behind it need not move.
        var numbers: [Int] = []
        var next = 1
        while numbers.count < max(keep, 1) {
            defer { next += 1 }
            guard exists(next) else {
                numbers.append(next)
                break
            }
            if EventLines.begin(name(next)) { numbers.append(next) }
        }
        for (newer, older) in zip(numbers, numbers.dropFirst()).reversed() {
            try move(name(newer), to: name(older))
        }
        try move(path, to: name(numbers[0]))
    }

    /// Removes the files that a former, larger `keep` left.
    private func removeSurplus() {
        var own = 0
        var index = 1
        while exists(index) {
            defer { index += 1 }
            guard EventLines.begin(name(index)) else { continue }
            own += 1
            if own > keep { unlink(name(index)) }
        }
    }

    private func name(_ index: Int) -> String {
        "\(path).\(index)"
    }

    private func exists(_ index: Int) -> Bool {
        var status = stat()
        // `lstat`, because a link without a target has the name, too.
        return lstat(name(index), &status) == 0
    }

    /// Renames a file. A file with the new name is replaced.
    private func move(_ old: String, to new: String) throws(FileFault) {
        guard rename(old, new) == 0 else { throw .last }
    }
}

/// The test whether a file has events that a dispatcher wrote.
private enum EventLines {
    /// Returns true if a file is empty or begins as every delivered event does. Files of other programs are never
    /// overwritten or deleted (Behaviour K2).
    static func begin(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard file >= 0 else { return false }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        var bytes = [UInt8](repeating: 0, count: beginning.count)
        let count = pread(file, &bytes, bytes.count, 0)
        return count == 0 || count == bytes.count && bytes == beginning
    }

    private static let beginning = Array(#"{"id":"#.utf8)
}
