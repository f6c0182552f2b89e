import Foundation

@testable import HeadgateWire

/// Text that ends at the end of readable memory, so that reading one byte too many crashes.
final class GuardedText {
    private let bytes: UnsafeRawBufferPointer
    private let pages: GuardedPages

    init(_ text: some Collection<UInt8>) {
        pages = GuardedPages.forText(of: text.count)
        let start = pages.end - text.count
        UnsafeMutableRawBufferPointer(start: start, count: text.count).copyBytes(from: text)
        bytes = UnsafeRawBufferPointer(start: start, count: text.count)
    }

    convenience init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// Calls `body` with the bytes, and keeps the text alive meanwhile.
    func read<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        try withExtendedLifetime(self) { try body(bytes) }
    }

    /// Scans the text and calls `body` with the view, which is valid only in that call.
    func scan<T>(_ scanner: JSONScanner = JSONScanner(), _ body: (JSONView) throws -> T) throws -> T {
        try withExtendedLifetime((self, scanner)) { try body(try scanner.scan(bytes)) }
    }

    /// Scans the text and throws if it is not valid.
    func check(_ scanner: JSONScanner = JSONScanner()) throws {
        try scan(scanner) { _ in }
    }

    deinit {
        pages.giveBack()
    }
}

/// Memory followed by a page that must not be accessed. Mapping memory takes longer than most tests need, so one-page
/// regions are reused.
private struct GuardedPages: @unchecked Sendable {
    // Sendable: each instance has one owner at a time.
    private let start: UnsafeMutableRawPointer
    private let readable: Int
    private static let page = Int(getpagesize())
    private static let spare = SparePages()

    var end: UnsafeMutableRawPointer { start + readable }

    static func forText(of count: Int) -> GuardedPages {
        let readable = (count + page) / page * page
        let used = readable == page ? spare.take() : nil
        return used ?? GuardedPages(readable: readable)
    }

    private init(readable: Int) {
        let length = readable + Self.page
        let mapped = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let mapped, mapped != MAP_FAILED else { fatalError("no pages for a test") }
        mprotect(mapped + readable, Self.page, PROT_NONE)
        start = mapped
        self.readable = readable
    }

    func giveBack() {
        guard readable == Self.page else {
            munmap(start, readable + Self.page)
            return
        }
        Self.spare.add(self)
    }
}

/// Pages that are not in use.
// Unchecked: guarded by a lock. It is an NSLock, since the thread sanitizer does not see a Mutex.
private final class SparePages: @unchecked Sendable {
    private let lock = NSLock()
    private var pages: [GuardedPages] = []

    func take() -> GuardedPages? {
        lock.withLock { pages.popLast() }
    }

    func add(_ one: GuardedPages) {
        lock.withLock { pages.append(one) }
    }
}
