import Glibc

@testable import HeadgateWire

/// Text that ends where readable memory ends: whoever reads one byte too many does not get away with it.
final class GuardedText {
    private let bytes: UnsafeRawBufferPointer
    private let pages: UnsafeMutableRawPointer
    private let length: Int

    init(_ text: some Collection<UInt8>) {
        let page = Int(getpagesize())
        let readable = (text.count + page) / page * page
        length = readable + page
        let mapped = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapped, mapped != MAP_FAILED else { fatalError("no pages for a test") }
        pages = mapped
        mprotect(pages + readable, page, PROT_NONE)
        let start = pages + (readable - text.count)
        UnsafeMutableRawBufferPointer(start: start, count: text.count).copyBytes(from: text)
        bytes = UnsafeRawBufferPointer(start: start, count: text.count)
    }

    convenience init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// The bytes, and the text for as long as they are used.
    func read<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        try withExtendedLifetime(self) { try body(bytes) }
    }

    /// Scans the text; the view is for `body` alone.
    func scan<T>(_ scanner: JSONScanner = JSONScanner(), _ body: (JSONView) throws -> T) throws -> T {
        try withExtendedLifetime((self, scanner)) { try body(try scanner.scan(bytes)) }
    }

    /// Whether the text is scanned without a fault, which is thrown otherwise.
    func check(_ scanner: JSONScanner = JSONScanner()) throws {
        try scan(scanner) { _ in }
    }

    deinit {
        munmap(pages, length)
    }
}
