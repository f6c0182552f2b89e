/// What has been told of one page's regions, and what a reader who knows less has still to be told. It keeps the latest
/// of each region and no backlog, however slowly somebody reads.
struct PageFeed: Sendable {
    /// Counts the changes; a reader is told those behind the one that it knows.
    private(set) var version = 0
    private var regions: [Told] = []

    private struct Told: Sendable {
        let id: String
        var html: String
        var version: Int
        /// The event that tells of it, ready to be sent to any number of readers.
        var event: [UInt8]
    }

    /// Takes note of how the page is now.
    /// - Returns: whether there is anything new.
    mutating func show(_ page: [Region]) -> Bool {
        let before = version
        for region in page { show(region) }
        return version != before
    }

    private mutating func show(_ region: Region) {
        let place = regions.firstIndex { $0.id == region.id }
        if let place, regions[place].html == region.html.text { return }
        version += 1
        let told = Told(
            id: region.id, html: region.html.text, version: version,
            event: EventText.event("region", "\(region.id)\n\(region.html.text)"))
        if let place { regions[place] = told } else { regions.append(told) }
    }

    /// The events for a reader who knows the page as it was at a version.
    func events(since known: Int) -> [[UInt8]] {
        regions.filter { $0.version > known }.map(\.event)
    }
}
