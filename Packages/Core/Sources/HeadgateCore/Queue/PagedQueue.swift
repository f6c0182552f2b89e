/// A queue made of pages: its elements are never moved, and empty pages are freed. An element keeps its index until it
/// is removed. Indices are assigned in ascending order.
struct PagedQueue<Element: BitwiseCopyable> {
    private var pages: [[Element]] = []
    /// The number of the first page.
    private var firstPage: Int
    /// The index of the oldest element.
    private(set) var start: Int
    /// The index after the newest element.
    private(set) var end: Int

    static var pageBits: Int { 10 }
    static var pageSize: Int { 1 << pageBits }

    /// - Parameter page: the page of the first index.
    init(page: Int = 0) {
        firstPage = page
        start = page << PagedQueue.pageBits
        end = start
    }

    var count: Int { end - start }
    var isEmpty: Bool { start == end }

    /// The element at an index.
    subscript(position: Int) -> Element {
        pages[position >> PagedQueue.pageBits - firstPage][position & (PagedQueue.pageSize - 1)]
    }

    /// Returns the only index in use with these low bits (``FingerprintIndex``).
    func position(nearest short: UInt32) -> Int {
        start + Int((short &- UInt32(truncatingIfNeeded: start)) & FingerprintIndex.positionMask)
    }

    mutating func append(_ element: Element) {
        if end >> PagedQueue.pageBits - firstPage == pages.count { addPage() }
        pages[pages.count - 1].append(element)
        end += 1
    }

    /// Removes the oldest element.
    mutating func removeFirst() {
        start += 1
        if start >> PagedQueue.pageBits > firstPage { dropFirstPage() }
    }

    /// Removes the newest element.
    mutating func removeLast() {
        end -= 1
        pages[pages.count - 1].removeLast()
        if pages[pages.count - 1].isEmpty { pages.removeLast() }
    }

    private mutating func addPage() {
        var page: [Element] = []
        page.reserveCapacity(PagedQueue.pageSize)
        pages.append(page)
    }

    private mutating func dropFirstPage() {
        pages.removeFirst()
        firstPage += 1
    }
}
