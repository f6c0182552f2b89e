/// A place in the settings: `dispatchers.collect.endpoint`.
struct SettingsPath: Equatable {
    /// The keys on the way, at least one.
    let keys: [String]

    /// Why a text is no path.
    struct Fault: Error, Equatable {
        let message: String
    }

    /// Reads a path up to a `=` or the end. A key with dots or `=` in it stands in double quotes: `a."b.c"`.
    /// - Returns: the path and what stands behind the `=`; nil in place of that without one.
    static func parse(_ text: String) throws(Fault) -> (path: SettingsPath, value: String?) {
        var rest = Substring(text)
        var keys: [String] = []
        repeat {
            keys.append(try takeKey(&rest))
        } while take(".", &rest)
        let path = SettingsPath(keys: keys)
        if take("=", &rest) { return (path, String(rest)) }
        guard rest.isEmpty else { throw Fault(message: "what is \(rest)?") }
        return (path, nil)
    }

    /// Whether one of them is inside the other, or the same.
    func overlaps(_ other: SettingsPath) -> Bool {
        zip(keys, other.keys).allSatisfy(==)
    }

    private static func takeKey(_ rest: inout Substring) throws(Fault) -> String {
        let key = take("\"", &rest) ? try takeQuoted(&rest) : try takeBare(&rest)
        guard !key.isEmpty else { throw Fault(message: "a key is empty") }
        return key
    }

    private static func takeBare(_ rest: inout Substring) throws(Fault) -> String {
        let key = rest.prefix { $0 != "." && $0 != "=" }
        guard !key.hasSuffix("]") else { throw Fault(message: "arrays are set as a whole") }
        rest.removeFirst(key.count)
        return String(key)
    }

    private static func takeQuoted(_ rest: inout Substring) throws(Fault) -> String {
        guard let end = rest.firstIndex(of: "\"") else { throw Fault(message: "a quote is not closed") }
        defer { rest = rest[rest.index(after: end)...] }
        return String(rest[..<end])
    }

    private static func take(_ character: Character, _ rest: inout Substring) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }
}
