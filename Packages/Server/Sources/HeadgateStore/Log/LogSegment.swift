import HeadgateCore

/// A file of the log in use as a segment.
final class LogSegment {
    let number: UInt64
    let file: LogFile
    /// Where the events lie that it holds.
    @exclusivity(unchecked) var index: LogIndex
    private let files: LogFiles
    /// Open as long as it is written to.
    @exclusivity(unchecked) private var handle: (any DiskFile)?

    init(number: UInt64, file: LogFile, files: LogFiles, index: LogIndex) {
        (self.number, self.file, self.files, self.index) = (number, file, files, index)
    }

    func place(_ offset: Int) -> LogPlace { LogPlace(segment: number, offset: offset) }

    /// The open file, which stays open until ``close()``.
    func open() throws(DiskFault) -> any DiskFile {
        if let handle { return handle }
        let opened = try files.open(file.number)
        handle = opened
        return opened
    }

    func close() {
        handle = nil
    }

    /// Nothing more is written to it, and who reads it later does so once.
    func seal() {
        handle?.leaveCache()
        close()
    }

    /// Reads a piece; it may end before the range does.
    func read(_ range: Range<Int>) throws(DiskFault) -> [UInt8] {
        if let handle { return try handle.read(range) }
        return try files.open(file.number).read(range)
    }

    /// Reads what a whole frame holds; nil where there is no sound one.
    func content(at offset: Int) throws(DiskFault) -> [UInt8]? {
        try frame(at: offset)?.content
    }

    /// Reads a whole frame; nil where there is no sound one.
    func frame(at offset: Int) throws(DiskFault) -> (kind: LogFrame.Kind, content: [UInt8])? {
        let header = try read(offset..<offset + LogFrame.headerSize)
        guard let frame = header.withUnsafeBytes({ LogFrame($0, at: place(offset)) }),
            offset + frame.size <= file.size
        else { return nil }
        let content = try read(offset + LogFrame.headerSize..<offset + LogFrame.headerSize + frame.length)
        return content.lend(frame.isSound) ? (frame.kind, content) : nil
    }

    /// Goes over the sound groups of a block.
    func visitGroups(_ block: LogBlock, _ body: (LogGroup.Pieces) -> Void) throws(DiskFault) {
        let bytes = try read(block.range)
        bytes.withUnsafeBytes { bytes in
            var scan = LogScan(bytes, from: place(block.range.lowerBound), behind: nil)
            while let found = scan.next() {
                guard case .frame(let frame, let offset) = found,
                    let group = try? LogGroup.Pieces(scan.content(of: frame, at: offset), frame.kind)
                else { continue }
                body(group)
            }
        }
    }
}

extension DiskFile {
    /// Reads a piece; it may end before the range does.
    func read(_ range: Range<Int>) throws(DiskFault) -> [UInt8] {
        // What a damaged file says of its size takes no memory.
        let isLarge = range.count > 1 << 20
        let most = isLarge ? max(0, min(range.count, try size() - range.lowerBound)) : range.count
        var fault: DiskFault?
        let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            do throws(DiskFault) {
                count = try read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
            } catch { fault = error }
        }
        if let fault { throw fault }
        return bytes
    }
}
