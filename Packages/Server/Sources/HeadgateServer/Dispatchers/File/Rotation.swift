import Glibc

/// Moves a full file out of the way: `events.ndjson` becomes `events.ndjson.1`, which is always the newest of the
/// rotated ones, and the others move up by one (Behaviour K2).
///
/// A file that has one of these names and was not written by a dispatcher keeps its name and its content: rotation passes
/// over the number.
struct Rotation {
    let path: String
    /// How many rotated files stay; with none the file is removed.
    let keep: Int

    /// Afterwards there is no file at the path. It can be broken off at any point without a file being lost, and be run
    /// again.
    func run() throws(FileFault) {
        // A file that begins with something else was there before the dispatcher, and is only put aside.
        if keep > 0 || !EventLines.begin(path) {
            try moveUp()
        } else {
            guard unlink(path) == 0 else { throw .last }
        }
        removeSurplus()
        try ParentDirectory(of: path).sync()
    }

    private func moveUp() throws(FileFault) {
        // A gap ends the move: what lies behind it need not make room.
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

    /// Those that stayed from a time with a larger `keep`.
    private func removeSurplus() {
        var own = 0
        var place = 1
        while exists(place) {
            defer { place += 1 }
            guard EventLines.begin(name(place)) else { continue }
            own += 1
            if own > keep { unlink(name(place)) }
        }
    }

    private func name(_ place: Int) -> String {
        "\(path).\(place)"
    }

    private func exists(_ place: Int) -> Bool {
        var status = stat()
        // A link that leads nowhere has the name, too.
        return lstat(name(place), &status) == 0
    }

    /// Whatever has the new name is replaced.
    private func move(_ old: String, to new: String) throws(FileFault) {
        guard rename(old, new) == 0 else { throw .last }
    }
}

/// The form of the files that dispatchers write.
private enum EventLines {
    /// Returns true if a file begins as every delivered event does, or is empty. A file of another origin is never overwritten or
    /// deleted (Behaviour K2).
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
