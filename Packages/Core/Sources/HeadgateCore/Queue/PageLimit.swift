/// The size limit of pages with stored events.
enum PageLimit {
    /// The most bytes of a page's events in JSON, with their metadata. A larger single event forms a page of its own.
    static let bytes = 512 << 10
}
