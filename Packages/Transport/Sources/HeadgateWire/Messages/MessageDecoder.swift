/// Makes messages of lines. One decoder serves any number of connections, one line at a time.
public final class MessageDecoder {
    private let scanner: JSONScanner

    /// A decoder for lines nested so deep (`limits.max_depth`).
    public init(maxDepth: Int = JSONScanner.usualDepth) {
        scanner = JSONScanner(maxDepth: maxDepth)
    }

    /// What a line holds. A line that cannot be read is an invalid message with the error to answer.
    public func decode(_ line: UnsafeRawBufferPointer) -> IncomingLine {
        do {
            return decode(try scanner.scan(line))
        } catch {
            return .message(.invalid(id: nil, RPCError(error)))
        }
    }

    private func decode(_ view: JSONView) -> IncomingLine {
        guard let elements = view.elements else { return .message(IncomingMessage(view)) }
        guard elements.count > 0 else { return .message(.invalid(id: nil, .invalidRequest("an empty batch"))) }
        return .batch(IncomingBatch(elements: elements))
    }
}
