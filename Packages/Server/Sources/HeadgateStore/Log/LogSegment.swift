import HeadgateCore

/// A file of the log in its use as a segment.
final class LogSegment {
    let number: UInt64
    let file: LogFile
    /// The index of the segment's events.
    @exclusivity(unchecked) var index: LogIndex
    let files: LogFiles
    /// Decrypts the frames; nil before the first one is read.
    @exclusivity(unchecked) private var opener: FrameOpener?
    /// The header of the file; nil before it is read, and `.some(nil)` if it is damaged.
    @exclusivity(unchecked) private var knownHeader: LogHeader??
    /// The open file of the active segment.
    @exclusivity(unchecked) private var handle: (any DiskFile)?

    /// Creates a segment with an empty index.
    /// - Parameter blockSize: the bytes of a block; 0 if the index is not used.
    init(_ number: UInt64, _ file: LogFile, in files: LogFiles, blockSize: Int = 0) {
        (self.number, self.file, self.files, index) = (number, file, files, LogIndex(blockSize: blockSize))
    }

    func position(_ offset: Int) -> LogPosition { LogPosition(segment: number, offset: offset) }

    /// Returns the open file, which stays open until ``close()``.
    func open() throws(DiskFault) -> any DiskFile {
        if let handle { return handle }
        let opened = try files.open(file.number)
        handle = opened
        return opened
    }

    func close() {
        handle = nil
    }

    /// Ends the writing to the segment. Later reads of the file are rare, so the page cache may drop it.
    func seal() {
        handle?.leaveCache()
        close()
    }

    /// Reads a range. The result is shorter if the file is.
    func read(_ range: Range<Int>) throws(DiskFault) -> [UInt8] {
        if let handle { return try handle.read(range) }
        return try files.open(file.number).read(range)
    }

    /// Reads the content of a frame; nil if there is no sound one.
    func content(at offset: Int) throws(DiskFault) -> [UInt8]? {
        let header = try read(offset..<offset + LogFrame.headerSize)
        guard let frame = header.withUnsafeBytes({ LogFrame($0, at: position(offset)) }),
            offset + frame.size <= file.size
        else { return nil }
        let content = try read(offset + LogFrame.headerSize..<offset + LogFrame.headerSize + frame.length)
        guard content.withRawBytes(frame.isSound), let opener = try frameOpener() else { return nil }
        return content.withRawBytes { opener.content(of: frame, $0, at: position(offset)).map { Array($0) } }
    }

    /// Returns the object that decrypts the frames, by the file's header; nil if the key is missing.
    private func frameOpener() throws(DiskFault) -> FrameOpener? {
        if opener == nil {
            opener = FrameOpener(files.keyring == nil ? nil : try header(), segment: number, files.keyring)
        }
        return opener
    }

    /// Returns the header of the file; nil if it is damaged.
    private func header() throws(DiskFault) -> LogHeader? {
        if let knownHeader { return knownHeader }
        var header: LogHeader?
        if case .header(let found) = try read(0..<LogHeader.size).withUnsafeBytes(LogHeader.read),
            found.number == number
        {
            header = found
        }
        knownHeader = .some(header)
        return header
    }

    /// Returns the number of the key that encrypts the file, 0 if it is not encrypted, and nil if its header is damaged.
    func key() throws(DiskFault) -> UInt16? { try header().map { $0.seal?.key ?? 0 } }

    /// Returns true if a new file would be encrypted under another key, or not at all.
    func isOutdated() throws(DiskFault) -> Bool {
        guard let keyring = files.keyring else { return false }
        return try header().map { !keyring.isCurrent($0.seal) } ?? true
    }

    /// Visits the sound groups of a block.
    func visitGroups(_ block: LogBlock, _ body: (LogGroup.Pieces) -> Void) throws(DiskFault) {
        let bytes = try read(block.range)
        guard let opener = try frameOpener() else { return }
        bytes.withUnsafeBytes { bytes in
            var scan = LogScan(bytes, from: position(block.range.lowerBound), behind: nil, opener: opener)
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
    /// Writes all bytes.
    func write(_ bytes: [UInt8], at offset: Int) throws(DiskFault) {
        try bytes.withRawBytes { (bytes) throws(DiskFault) in try write(bytes, at: offset) }
    }

    /// Reads a range. The result is shorter if the file is.
    func read(_ range: Range<Int>) throws(DiskFault) -> [UInt8] {
        // A damaged length must not allocate memory.
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
