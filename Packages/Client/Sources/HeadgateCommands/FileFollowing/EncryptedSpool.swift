import CPipe
import Glibc
import HeadgateData
import HeadgateEncryption
import HeadgateTransport

/// A spool with encrypted records (Behaviour C4).
///
/// A record is its length and its encrypted bytes, which are bound to the spool and to the record's place in the file.
/// The bytes are copied from the pipe, encrypted, and written; then they are taken out of the pipe. So each byte is always
/// in the pipe or in the spool. A kill in between leaves the bytes of one record in both, and its lines are sent twice.
struct EncryptedSpool: SpoolFile {
    private struct Record {
        /// The offset of the record's first byte among the bytes of the pipe.
        let start: Int
        /// The offset of the encrypted bytes in the file.
        let offset: Int
        /// The number of encrypted bytes.
        let size: Int

        var end: Int { start + size - SealedFile.overhead }
    }

    private let path: String
    private let file: OwnedDescriptor
    private let keyring: Keyring
    private let terminal: Terminal
    /// A pipe that the records are copied to, and read from.
    private let copy: (reading: OwnedDescriptor, writing: OwnedDescriptor)
    private var records: [Record] = []
    private(set) var lastByte: UInt8?
    private(set) var isOutdated = false
    /// The offsets of the records whose damage was reported.
    private var reported: Set<Int> = []

    /// The most bytes of a record, as many as the pipe of the copies can have.
    private static let longest = 1 << 20
    /// The bytes of a record's length.
    private static let lengthSize = 4

    /// Opens or creates the spool. An incomplete record at its end is removed.
    init(_ path: String, _ keyring: Keyring, _ terminal: Terminal) throws(FollowFault) {
        (self.path, self.keyring, self.terminal) = (path, keyring, terminal)
        file = OwnedDescriptor(OwnFile.open(path))
        guard file.number >= 0 else { throw FollowFault("open", path) }
        copy = try OwnedDescriptor.pipe()
        cpipe_set_size(copy.writing.number, Int32(Self.longest))
        try findRecords()
    }

    /// The bytes of the file up to the end of the last record.
    var size: Int { records.last.map { $0.offset + $0.size } ?? 0 }

    var length: Int { records.last?.end ?? 0 }

    // MARK: Opening

    private mutating func findRecords() throws(FollowFault) {
        let end = Int(lseek(file.number, 0, SEEK_END))
        while let record = try recordAfterLast(upTo: end) { records.append(record) }
        if end > size {
            terminal.printError("\(path) is incomplete: its last \(end - size) bytes are removed")
            guard ftruncate(file.number, off_t(size)) == 0 else { throw FollowFault("write", path) }
        }
        lastByte = try records.last.map { record throws(FollowFault) in try content(of: record).last ?? 0 }
    }

    /// Returns the record that begins at the end of the last one, or nil if there is none.
    private mutating func recordAfterLast(upTo end: Int) throws(FollowFault) -> Record? {
        let beginning = try file.bytes(at: size, upTo: Self.lengthSize + SealedFile.prefix, of: path)
        guard beginning.count == Self.lengthSize + SealedFile.prefix else { return nil }
        let length = beginning.withUnsafeBytes { Int(LittleEndian.load($0, at: 0, as: UInt32.self)) }
        let record = Record(start: self.length, offset: size + Self.lengthSize, size: length)
        let seal = Array(beginning[Self.lengthSize...])
        let lengths = SealedFile.overhead + 1...SealedFile.overhead + Self.longest
        guard lengths.contains(length), record.offset + length <= end, SealedFile.isSealed(seal) else { return nil }
        if let fault = SealedFile.missingKey(seal, at: path, under: keyring, source: FollowKeys.option) {
            throw FollowFault(fault)
        }
        if !SealedFile.isCurrent(seal, under: keyring) { isOutdated = true }
        return record
    }

    // MARK: Reading

    /// Returns at most this many bytes from an offset on. Damaged records are read as line feeds, so that the lines
    /// before and after them are whole, and are reported once.
    mutating func bytes(at offset: Int, upTo most: Int) throws(FollowFault) -> [UInt8] {
        var index = BinarySearch.first(in: records.indices) { records[$0].end > offset }
        var bytes: [UInt8] = []
        while bytes.count < most, index < records.count {
            let content = try content(of: records[index])
            bytes += content.dropFirst(max(0, offset - records[index].start)).prefix(most - bytes.count)
            index += 1
        }
        return bytes
    }

    private mutating func content(of record: Record) throws(FollowFault) -> [UInt8] {
        let stored = try file.bytes(at: record.offset, upTo: record.size, of: path)
        let length = record.end - record.start
        if let content = SealedFile.content(stored, of: name(at: record.offset), under: keyring),
            content.count == length
        {
            return content
        }
        if reported.insert(record.offset).inserted {
            terminal.printError("\(path) is damaged: \(length) bytes cannot be decrypted, and their lines are not sent")
        }
        return [UInt8](repeating: UInt8(ascii: "\n"), count: length)
    }

    /// Returns the name to which the record at an offset of the file is bound.
    private func name(at offset: Int) -> String {
        "\(path.split(separator: "/").last ?? "") \(offset)"
    }

    // MARK: Writing

    mutating func take(_ most: Int, isRest: Bool, from pipe: Int32) -> FollowFault? {
        let count = cpipe_copy(pipe, copy.writing.number, Self.longest)
        guard count > 0 else {
            return count == 0 || errno == EAGAIN || errno == EINTR ? nil : FollowFault("read", path)
        }
        var content = EncryptedSpool.read(count, from: copy.reading.number)
        let end = isRest ? content.lineFeed(from: 0).map { $0 + 1 } ?? content.count : most
        content = Array(content.prefix(end))
        if let fault = write(content) { return fault }
        _ = EncryptedSpool.read(content.count, from: pipe)
        return nil
    }

    /// Writes a record at the end. After a failure the spool is as before.
    private mutating func write(_ content: [UInt8]) -> FollowFault? {
        let offset = size + Self.lengthSize
        let sealed = SealedFile.bytes(content, as: name(at: offset), under: keyring)
        let bytes = LittleEndian.bytes(UInt32(sealed.count)) + sealed
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                pwrite(
                    file.number, bytes.baseAddress.map { $0 + written }, bytes.count - written,
                    off_t(size + written))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let fault = FollowFault("write", path)
                _ = ftruncate(file.number, off_t(size))
                return fault
            }
            written += count
        }
        records.append(Record(start: length, offset: offset, size: sealed.count))
        lastByte = content.last
        return nil
    }

    /// Takes bytes out of a pipe that has them.
    private static func read(_ count: Int, from pipe: Int32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let size = Glibc.read(pipe, buffer.baseAddress.map { $0 + filled }, count - filled)
                if size < 0, errno == EINTR { continue }
                // Another process may have taken bytes of the pipe meanwhile.
                guard size > 0 else { break }
                filled += size
            }
        }
    }

    func sync() -> Bool { fdatasync(file.number) == 0 }

    mutating func empty() -> Bool {
        guard ftruncate(file.number, 0) == 0, fsync(file.number) == 0 else { return false }
        (records, lastByte, isOutdated, reported) = ([], nil, false, [])
        return true
    }
}
