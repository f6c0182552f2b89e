import HeadgateTransport

/// What one thread takes out, all at once, others put in.
final class Mailbox<Element: Sendable>: Sendable {
    private let elements = Guarded<[Element]>([])

    /// Puts elements in, in order.
    /// - Returns: whether there were none before.
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

    /// Takes all out, waiting for the first if asked to.
    func takeAll(waiting: Bool) -> [Element] {
        let isWanted = { (elements: [Element]) in !waiting || !elements.isEmpty }
        return elements.withLock(when: isWanted) { elements in
            defer { elements = [] }
            return elements
        }
    }
}
