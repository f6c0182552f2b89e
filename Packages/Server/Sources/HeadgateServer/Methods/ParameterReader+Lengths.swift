import HeadgateWire

extension ParameterReader {
    /// A text of at most so many bytes that there has to be.
    func required(_ name: StaticString, upTo most: Int) throws(RPCError) -> String {
        try checked(try required(name), name, most)
    }

    /// A text of at most so many bytes; nil when there is none.
    func optional(_ name: StaticString, upTo most: Int) throws(RPCError) -> String? {
        guard let text: String = try optional(name) else { return nil }
        return try checked(text, name, most)
    }

    private func checked(_ text: String, _ name: StaticString, _ most: Int) throws(RPCError) -> String {
        guard text.utf8.count <= most else { throw fault(name, "must have at most \(most) bytes") }
        return text
    }
}
