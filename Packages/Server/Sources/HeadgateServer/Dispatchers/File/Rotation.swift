import Glibc

/// Moves a full file out of the way: `events.ndjson` becomes `events.ndjson.1`, which is always the newest of the
/// rotated ones, and the others move up by one (Behaviour K2).
struct Rotation {
    let path: String
    /// How many rotated files stay; with none the file is removed.
    let keep: Int

    /// Afterwards there is no file at the path. It can be broken off at any point without a file being lost, and be run
    /// again.
    func run() throws(FileFault) {
        if keep > 0 {
            try moveUp()
        } else {
            guard unlink(path) == 0 else { throw .last }
        }
        removeSurplus()
        try ParentDirectory(of: path).sync()
    }

    private func moveUp() throws(FileFault) {
        // A gap ends the move: what lies behind it need not make room.
        let last = (1..<keep).first { !exists($0) } ?? keep
        for place in stride(from: last, to: 1, by: -1) {
            try move(name(place - 1), to: name(place))
        }
        try move(path, to: name(1))
    }

    /// Those that stayed from a time with a larger `keep`.
    private func removeSurplus() {
        var place = max(0, keep) + 1
        while unlink(name(place)) == 0 { place += 1 }
    }

    private func name(_ place: Int) -> String {
        "\(path).\(place)"
    }

    private func exists(_ place: Int) -> Bool {
        access(name(place), F_OK) == 0
    }

    /// Whatever has the new name is replaced.
    private func move(_ old: String, to new: String) throws(FileFault) {
        guard rename(old, new) == 0 else { throw .last }
    }
}
