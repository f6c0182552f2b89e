import HeadgateData

/// The position that a follower has reached: which file it follows, and which lines are settled. A pure value.
///
/// A line is settled once it is stored, or refused for good.
struct FollowerPosition: StoredPosition, Equatable {
    /// The identity of a file. It stays the same when the file is renamed.
    struct File: Hashable {
        var device: Int
        var inode: Int
    }

    var file: File
    /// The prefix of the lines' IDs. It is never used for another file, nor for the same file after a truncation. So a
    /// line always has the same ID, and no other line has it.
    var prefix: String
    /// The creation time of the file, in nanoseconds since 1970, or 0 if it is not known. It distinguishes the file
    /// from a later one with the same inode.
    var birth = 0
    /// The offset of the first line that may not be settled.
    private(set) var offset = 0
    /// The last bytes before the offset. If the file has others there, it was rewritten.
    private(set) var before: [UInt8] = []
    /// The settled lines after the offset, as ranges from the start of a line to the end of a line.
    private(set) var settled: [Range<Int>] = []
    /// True if the offset is inside a line that is too long. The rest of that line is skipped.
    var isInLongLine = false
    /// The format of the file, by its first lines.
    var format = FileFormat()
    /// The file's size and time at the last check, or nil before the first.
    var seen: FileMetadata?

    /// The number of bytes before the offset that are remembered.
    static let remembered = 64

    init(_ file: File, prefix: String) {
        (self.file, self.prefix) = (file, prefix)
    }

    /// Returns the ID of the line that begins at an offset.
    func id(at offset: Int) -> String {
        "\(prefix)-\(offset)"
    }

    /// Moves the offset over settled bytes.
    mutating func advance(over bytes: some Collection<UInt8>) {
        offset += bytes.count
        before = Array((before + bytes.suffix(FollowerPosition.remembered)).suffix(FollowerPosition.remembered))
        settled.removeAll { $0.upperBound <= offset }
    }

    /// Moves the offset over NUL bytes.
    mutating func skip(to offset: Int) {
        let count = offset - self.offset
        guard count > 0 else { return }
        advance(over: [UInt8](repeating: 0, count: min(count, FollowerPosition.remembered)))
        self.offset = offset
    }

    /// Notes the state of a piece at the offset: moves over its first settled lines, and lists its other settled lines.
    mutating func note(_ piece: LineBatch) {
        guard piece.prefix == prefix, piece.end > offset else { return }
        advance(over: piece.bytes(from: offset, to: piece.firstOpen))
        settled = piece.settled(from: offset)
        if piece.isAllSettled { (format, isInLongLine) = (piece.format, piece.endsInLongLine) }
    }

    /// Returns true if the line that begins at an offset is settled.
    func isSettled(at offset: Int) -> Bool {
        settled.contains { $0.contains(offset) }
    }

    /// Returns true if a file with this shape is not the same: it was truncated or rewritten, or it is another file.
    func isReplaced(by shape: FileMetadata, trustsTimes: Bool = true) -> Bool {
        guard let seen else { return shape.size < offset }
        return shape.isRewritten(since: seen, trustsTimes: trustsTimes)
    }

    /// Returns true if the positions are equal apart from the file's shape.
    func isSame(as other: FollowerPosition?) -> Bool {
        guard var other else { return false }
        other.seen = seen
        return self == other
    }

    // MARK: Stored form

    /// Reads a stored position. Returns nil if the object is not a position.
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
        format = FileFormat(linesWithoutEvent: kept.get(key: "strangers"))
        if let size: Int = kept.get(key: "size"), let modified: Int = kept.get(key: "modified") {
            seen = FileMetadata(size: size, modified: modified)
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
        kept["strangers"] = format.linesWithoutEvent.map { .number(DataNumber($0)) }
        kept["size"] = seen.map { .number(DataNumber($0.size)) }
        kept["modified"] = seen.map { .number(DataNumber($0.modified)) }
        return kept
    }
}
