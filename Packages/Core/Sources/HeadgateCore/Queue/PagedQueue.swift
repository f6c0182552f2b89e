/// A queue that grows page by page: nothing in it is ever moved, and pages that are empty are let go of. An element keeps its place,
/// which are given out in ascending order, for as long as it is there.
struct PagedQueue<Element: BitwiseCopyable> {
    private var pages: [[Element]] = []
    /// The number of the first page.
    private var firstPage: Int
    /// The place of the oldest element.
    private(set) var start: Int
    /// The place behind the newest.
    private(set) var end: Int

    static var pageBits: Int { 10 }
    static var pageSize: Int { 1 << pageBits }

    /// - Parameter page: where places begin, in pages.
    init(page: Int = 0) {
        firstPage = page
        start = page << PagedQueue.pageBits
        end = start
    }

    var count: Int { end - start }
    var isEmpty: Bool { start == end }

    /// The element at a place.
    subscript(place: Int) -> Element {
        pages[place >> PagedQueue.pageBits - firstPage][place & (PagedQueue.pageSize - 1)]
    }

    /// The only place there is with these low bits (``FingerprintIndex``).
    func place(nearest short: UInt32) -> Int {
        start + Int((short &- UInt32(truncatingIfNeeded: start)) & FingerprintIndex.placeMask)
    }

    mutating func append(_ element: Element) {
        if end >> PagedQueue.pageBits - firstPage == pages.count { addPage() }
        pages[pages.count - 1].append(element)
        end += 1
    }

    /// Takes out the oldest.
    mutating func removeFirst() {
        start += 1
        if start >> PagedQueue.pageBits > firstPage { dropFirstPage() }
    }

    /// Takes out the newest.
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
