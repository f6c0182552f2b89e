/// What one line holds. Valid until the next line is decoded, and only as long as the line's bytes stay in place.
public enum IncomingLine {
    /// One message.
    case message(IncomingMessage)
    /// Several, to be answered together.
    case batch(IncomingBatch)
}

/// The messages of a batch, at least one, each decoded as it is reached.
public struct IncomingBatch: Sequence {
    let elements: JSONElements

    /// How many messages there are.
    public var count: Int { elements.count }

    public var underestimatedCount: Int { count }

    public func makeIterator() -> Iterator {
        Iterator(elements: elements.makeIterator())
    }

    /// Decodes one message after the other.
    public struct Iterator: IteratorProtocol {
        var elements: JSONElements.Iterator

        public mutating func next() -> IncomingMessage? {
            elements.next().map(IncomingMessage.init)
        }
    }
}

extension IncomingMessage {
    /// The message that a value is; `invalid` when it is none.
    init(_ view: JSONView) {
        guard let members = view.members else {
            self = .invalid(id: nil, .invalidRequest("a message is an object"))
            return
        }
        self = MessageFields(members).message
    }
}
