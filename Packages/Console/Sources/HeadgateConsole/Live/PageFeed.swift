/// The latest content of one page's regions, and their versions. A slow reader gets only the latest content of each
/// region, and no backlog.
struct PageFeed: Sendable {
    /// The number of changes so far. A reader that has version `n` gets the regions that changed after `n`.
    private(set) var version = 0
    private var regions: [ShownRegion] = []

    private struct ShownRegion: Sendable {
        let id: String
        var html: String
        var version: Int
        /// The event with the region's content, ready to send to any reader.
        var event: [UInt8]
    }

    /// Compares the regions with their last content, and stores what has changed.
    /// - Returns: true if a region has changed.
    mutating func show(_ page: [Region]) -> Bool {
        let before = version
        for region in page { show(region) }
        return version != before
    }

    private mutating func show(_ region: Region) {
        let index = regions.firstIndex { $0.id == region.id }
        if let index, regions[index].html == region.html.text { return }
        version += 1
        let shown = ShownRegion(
            id: region.id, html: region.html.text, version: version,
            event: EventText.event("region", "\(region.id)\n\(region.html.text)"))
        if let index { regions[index] = shown } else { regions.append(shown) }
    }

    /// Returns the events for a reader that has a version: one for each region that changed since.
    func events(since known: Int) -> [[UInt8]] {
        regions.filter { $0.version > known }.map(\.event)
    }
}
