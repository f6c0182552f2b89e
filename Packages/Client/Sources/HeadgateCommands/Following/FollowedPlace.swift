import HeadgateData

/// How far a file was followed: which file it is, and how much of it the daemon has stored. Pure.
struct FollowedPlace: Equatable {
    /// The file itself, whatever its name.
    struct File: Hashable {
        var device: Int
        var inode: Int
    }

    var file: File
    /// What the ids of its lines begin with: never used for another file, nor for the same once it was emptied, so that a
    /// line has one id for ever, and no other line has it.
    var prefix: String
    /// Where the first line begins that may not be stored.
    private(set) var offset = 0
    /// The last bytes before the offset: with others there the file is not what it was.
    private(set) var before: [UInt8] = []

    /// How many bytes before the offset are remembered.
    static let remembered = 64

    init(_ file: File, prefix: String) {
        (self.file, self.prefix) = (file, prefix)
    }

    /// The id of the line that begins so many bytes behind the offset.
    func id(at distance: Int) -> String {
        "\(prefix)-\(offset + distance)"
    }

    /// All of these bytes, which stand at the offset, is done with.
    mutating func advance(over bytes: some Collection<UInt8>) {
        offset += bytes.count
        before = Array((before + bytes.suffix(FollowedPlace.remembered)).suffix(FollowedPlace.remembered))
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
    }

    var kept: DataObject {
        [
            "version": 1, "device": .number(DataNumber(file.device)), "inode": .number(DataNumber(file.inode)),
            "prefix": .string(prefix), "offset": .number(DataNumber(offset)),
            "before": .array(before.map { .number(DataNumber(Int($0))) }),
        ]
    }
}

/// The whole lines at the beginning of what was read.
struct FollowedLines: Equatable {
    struct Line: Equatable {
        /// Where it begins in what was read.
        let start: Int
        let bytes: [UInt8]
    }

    /// Those that are not blank, without their ends.
    private(set) var lines: [Line] = []
    /// How many bytes they and the blank ones are.
    private(set) var length = 0

    /// - Parameter isLast: whether nothing comes behind, so that the last line needs no end.
    init(_ bytes: [UInt8], isLast: Bool = false) {
        while let end = bytes[length...].firstIndex(of: UInt8(ascii: "\n")) {
            add(bytes[length..<end])
            length = end + 1
        }
        guard isLast, length < bytes.count else { return }
        add(bytes[length...])
        length = bytes.count
    }

    private mutating func add(_ line: ArraySlice<UInt8>) {
        guard !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { return }
        lines.append(Line(start: line.startIndex, bytes: Array(line)))
    }
}
