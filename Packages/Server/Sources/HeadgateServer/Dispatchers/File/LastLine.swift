import Glibc

/// The last line of a file of events. A process that was killed while it wrote leaves a half one: it was never settled,
/// so it comes again and may be cut away.
struct LastLine {
    private let descriptor: Int32
    private let size: Int

    init(of descriptor: Int32, size: Int) {
        self.descriptor = descriptor
        self.size = size
    }

    /// Makes the file end with a whole line.
    func repair() throws(FileFault) {
        let start = try beginning()
        guard start < size else { return }
        // What is no event was not written here, and is only ended.
        let isEvent = try read(start..<start + 1).first == UInt8(ascii: "{")
        let isRepaired = isEvent ? ftruncate(descriptor, off_t(start)) == 0 : write(descriptor, "\n", 1) == 1
        guard isRepaired else { throw .last }
    }

    /// Where it begins: behind the last LF; at the end of a file that ends with one.
    private func beginning() throws(FileFault) -> Int {
        var end = size
        while end > 0 {
            let start = max(0, end - Self.step)
            let bytes = try read(start..<end)
            if let lineEnd = bytes.lastIndex(of: UInt8(ascii: "\n")) { return start + lineEnd + 1 }
            end = start
        }
        return 0
    }

    private func read(_ range: Range<Int>) throws(FileFault) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var filled = 0
        while filled < range.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress! + filled, range.count - filled, off_t(range.lowerBound + filled))
            }
            guard count > 0 else { throw count < 0 ? .last : FileFault(cause: "the file became shorter") }
            filled += count
        }
        return bytes
    }

    private static let step = 64 * 1024
}
