/// How large the pages are in which stored events are shown.
enum PageLimit {
    /// The most bytes of a page's events in JSON, with what is told of them. A single one that is larger comes alone.
    static let bytes = 512 << 10
}
