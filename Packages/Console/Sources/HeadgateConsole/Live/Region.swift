/// A part of a page that changes while the page is open.
struct Region: Equatable, Sendable {
    /// The ID of the element.
    let id: String
    /// The content of the element.
    let html: HTML
}
