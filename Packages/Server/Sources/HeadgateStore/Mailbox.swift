import HeadgateTransport

/// A queue between threads: some put elements in, and one takes all out at once.
final class Mailbox<Element: Sendable>: Sendable {
    private let elements = Guarded<[Element]>([])

    /// Puts elements in, in order.
    /// - Returns: true if there were none before.
    @discardableResult
    func put(_ new: [Element]) -> Bool {
        elements.withLock { elements in
            guard elements.isEmpty else {
                elements += new
                return false
            }
            elements = new
            return true
        }
    }

    /// Takes all elements out. If asked to, it waits for the first.
    func takeAll(waiting: Bool) -> [Element] {
        let isWanted = { (elements: [Element]) in !waiting || !elements.isEmpty }
        return elements.withLock(when: isWanted) { elements in
            defer { elements = [] }
            return elements
        }
    }
}
