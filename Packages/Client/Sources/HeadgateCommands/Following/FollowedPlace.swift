import HeadgateData

/// How far a file was followed: which file it is, and which of its lines are done with. Pure.
///
/// A line is done with once it is stored, or refused for good.
struct FollowedPlace: Equatable {
    /// The file itself, whatever its name.
    struct File: Hashable {
        var device: Int
        var inode: Int
    }

    var file: File
    /// The beginning of the ids of the file's lines. It is never used for another file, nor for the same one after it was
    /// emptied, so that a line always has one id, and no other line has it.
    var prefix: String
    /// The time at which the file was made, in nanoseconds since 1970. Zero if it is not known. Another file may get the inode
    /// of one that was deleted.
    var birth = 0
    /// The offset of the first line that may not be done with.
    private(set) var offset = 0
    /// The last bytes before the offset: if others stand there, the file was written anew.
    private(set) var before: [UInt8] = []
    /// The lines behind the offset that are done with, as ranges of offsets from the beginning of a line to the end of one.
    private(set) var settled: [Range<Int>] = []
    /// True if the offset is inside of a line that is too long. The rest of that line is passed over.
    var isInLongLine = false
    /// What the file's first lines are.
    var format = FileFormat()
    /// The file's size and time when it was last looked at. Nil if it has not been.
    var seen: FileShape?

    /// The number of bytes before the offset that are remembered.
    static let remembered = 64

    init(_ file: File, prefix: String) {
        (self.file, self.prefix) = (file, prefix)
    }

    /// Returns the id of the line that begins at an offset of the file.
    func id(at offset: Int) -> String {
        "\(prefix)-\(offset)"
    }

    /// Moves past bytes that stand at the offset, with which all is done.
    mutating func advance(over bytes: some Collection<UInt8>) {
        offset += bytes.count
        before = Array((before + bytes.suffix(FollowedPlace.remembered)).suffix(FollowedPlace.remembered))
        settled.removeAll { $0.upperBound <= offset }
    }

    /// Moves to a later offset. Nothing but NUL bytes stands between.
    mutating func skip(to offset: Int) {
        let count = offset - self.offset
        guard count > 0 else { return }
        advance(over: [UInt8](repeating: 0, count: min(count, FollowedPlace.remembered)))
        self.offset = offset
    }

    /// Notes what became of a piece that begins at the offset: moves past its first lines as far as they are done with, and
    /// remembers which of the others are.
    mutating func note(_ piece: FollowedPiece) {
        guard piece.prefix == prefix, piece.end > offset else { return }
        advance(over: piece.bytes(from: offset, to: piece.firstOpen))
        settled = piece.settled(from: offset)
        if piece.isAllSettled { (format, isInLongLine) = (piece.format, piece.endsInLongLine) }
    }

    /// Returns true if the line that begins at an offset is done with.
    func isSettled(at offset: Int) -> Bool {
        settled.contains { $0.contains(offset) }
    }

    /// Returns true if a file that looks so is not what it was: emptied, written anew, or another one.
    func isReplaced(by shape: FileShape, trustsTimes: Bool = true) -> Bool {
        guard let seen else { return shape.size < offset }
        return shape.isRewritten(since: seen, trustsTimes: trustsTimes)
    }

    /// Returns true if another place says the same about the lines, whatever the file looked like.
    func isSame(as other: FollowedPlace?) -> Bool {
        guard var other else { return false }
        other.seen = seen
        return self == other
    }

    // MARK: As it is kept

    /// Reads what was kept; nil when it is nothing of the kind.
    init?(_ kept: DataObject) {
        guard kept.get(key: "version") == 1, let device: Int = kept.get(key: "device"),
            let inode: Int = kept.get(key: "inode"), let prefix: String = kept.get(key: "prefix"),
            let offset: Int = kept.get(key: "offset"), let before: [Int] = kept.get(key: "before"),
            offset >= before.count, before.allSatisfy({ 0...255 ~= $0 })
        else { return nil }
        self.init(File(device: device, inode: inode), prefix: prefix)
        self.offset = offset
        self.before = before.map { UInt8($0) }
        birth = kept.get(key: "birth") ?? 0
        settled = (kept.get(key: "settled", as: [[Int]].self) ?? []).compactMap { pair in
            pair.count == 2 && pair[0] < pair[1] ? pair[0]..<pair[1] : nil
        }
        isInLongLine = kept.get(key: "in_long_line") ?? false
        format = FileFormat(strangers: kept.get(key: "strangers"))
        if let size: Int = kept.get(key: "size"), let modified: Int = kept.get(key: "modified") {
            seen = FileShape(size: size, modified: modified)
        }
    }

    var kept: DataObject {
        var kept: DataObject = [
            "version": 1, "device": .number(DataNumber(file.device)), "inode": .number(DataNumber(file.inode)),
            "birth": .number(DataNumber(birth)), "prefix": .string(prefix), "offset": .number(DataNumber(offset)),
            "before": .array(before.map { .number(DataNumber(Int($0))) }), "in_long_line": .bool(isInLongLine),
            "settled": .array(
                settled.map { range in
                    .array([.number(DataNumber(range.lowerBound)), .number(DataNumber(range.upperBound))])
                }),
        ]
        kept["strangers"] = format.strangers.map { .number(DataNumber($0)) }
        kept["size"] = seen.map { .number(DataNumber($0.size)) }
        kept["modified"] = seen.map { .number(DataNumber($0.modified)) }
        return kept
    }
}
