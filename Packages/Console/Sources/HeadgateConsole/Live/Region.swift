/// A part of a page that changes while one looks at it.
struct Region: Equatable, Sendable {
    /// The id of its element.
    let id: String
    /// What is in the element.
    let html: HTML
}
