import HeadgateTransport

/// The open pages, and the streams that bring changes to them.
///
/// A page is rendered once for all its readers, at most a few times a second, and never without readers.
final class LivePages {
    private let loop: EventLoop
    private let render: (Route.Page) -> [Region]
    /// Called with true when the first reader comes, and with false when the last one has left.
    private let attended: (Bool) -> Void
    private var open: [Route.Page: OpenPage] = [:]
    private var readers = 0
    private var isDue = false
    private lazy var timer = LoopTimer(on: loop) { [weak self] in self?.refresh() }
    private lazy var keepAliveTimer = LoopTimer(on: loop) { [weak self] in self?.sendKeepAlives() }

    private struct OpenPage {
        var feed = PageFeed()
        var readers: [ObjectIdentifier: PageReader] = [:]
    }

    /// The most readers at a time.
    static let mostReaders = 1_000
    private static let shortestPause = Duration.milliseconds(200)
    /// The time between two keep-alives. The server notices within this time that a page was closed.
    private static let keepAliveInterval = Duration.seconds(5)

    init(
        on loop: EventLoop, render: @escaping (Route.Page) -> [Region], attended: @escaping (Bool) -> Void
    ) {
        self.loop = loop
        self.render = render
        self.attended = attended
    }

    /// Returns a stream of a page's changes, or nil if there are too many.
    func reader(of page: Route.Page, wake: @escaping () -> Void) -> PageReader? {
        guard readers < Self.mostReaders else { return nil }
        let reader = PageReader(of: page, in: self, wake: wake)
        // The page is rendered now, so that the reader gets the present state: the last change may not be rendered yet.
        show(page)
        open[page]?.readers[ObjectIdentifier(reader)] = reader
        readers += 1
        if readers == 1 {
            keepAliveTimer.arm(after: Self.keepAliveInterval)
            attended(true)
        }
        return reader
    }

    /// Returns true if a page has readers.
    func isOpen(_ page: Route.Page) -> Bool { open[page] != nil }

    /// Schedules an update of all open pages, because the state has changed.
    func changed() {
        guard readers > 0, timer.deadline == nil else { return }
        timer.arm(after: Self.shortestPause)
    }

    /// Ends all streams. Browsers with open pages connect again.
    func endAll() {
        for page in open.values {
            for reader in page.readers.values { reader.finish() }
        }
    }

    fileprivate func events(of page: Route.Page, since known: Int) -> (events: [[UInt8]], version: Int) {
        guard let feed = open[page]?.feed else { return ([], known) }
        return (feed.events(since: known), feed.version)
    }

    fileprivate func left(_ reader: PageReader) {
        guard open[reader.page]?.readers.removeValue(forKey: ObjectIdentifier(reader)) != nil else { return }
        if open[reader.page]?.readers.isEmpty ?? false { open[reader.page] = nil }
        readers -= 1
        guard readers == 0 else { return }
        keepAliveTimer.cancel()
        timer.cancel()
        attended(false)
    }

    private func refresh() {
        for page in open.keys { show(page) }
    }

    /// Renders a page, and wakes its readers if it has changed.
    private func show(_ page: Route.Page) {
        guard open[page, default: OpenPage()].feed.show(render(page)) else { return }
        for reader in open[page]?.readers.values.map(\.self) ?? [] { reader.wake() }
    }

    private func sendKeepAlives() {
        for page in open.values {
            for reader in page.readers.values { reader.sendKeepAlive() }
        }
        keepAliveTimer.arm(after: Self.keepAliveInterval)
    }
}

/// The stream of one reader of a page.
final class PageReader: StreamSource {
    let page: Route.Page
    private weak var pages: LivePages?
    /// Makes the connection call ``read(atMost:)`` again.
    let wake: () -> Void
    private var known = 0
    private var isOver = false
    /// The pieces that are being sent, the next one first.
    private var outgoing = [EventText.opening][...]
    private var sentOfFirst = 0

    fileprivate init(of page: Route.Page, in pages: LivePages, wake: @escaping () -> Void) {
        self.page = page
        self.pages = pages
        self.wake = wake
    }

    func read(atMost count: Int) -> [UInt8]? {
        if isOver { return nil }
        if outgoing.isEmpty, let news = pages?.events(of: page, since: known) {
            outgoing = news.events[...]
            known = news.version
        }
        guard let first = outgoing.first else { return [] }
        let piece = first[sentOfFirst...].prefix(count)
        sentOfFirst += piece.count
        if sentOfFirst == first.count {
            outgoing.removeFirst()
            sentOfFirst = 0
        }
        return Array(piece)
    }

    func readerLeft() {
        pages?.left(self)
    }

    /// Ends the stream.
    func finish() {
        isOver = true
        wake()
    }

    /// Sends a keep-alive, unless other data is pending, so that the server notices a reader that has left.
    fileprivate func sendKeepAlive() {
        if outgoing.isEmpty { outgoing.append(EventText.sign) }
        wake()
    }
}
