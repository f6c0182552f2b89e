import HeadgateCore

/// The rule for the IDs of dispatchers.
enum DispatcherID {
    /// The most characters of an ID.
    static let longest = 64

    /// Returns the fault of an ID, or nil if the ID is valid.
    static func problem(about id: String) -> String? {
        if id == BarrierScope.all.rawValue { return "must not be `all`, which stands for all dispatchers" }
        if (1...longest).contains(id.utf8.count), id.utf8.allSatisfy(isAllowed) { return nil }
        return "must have 1 to \(longest) letters (a-z), digits, `_`, `-` or `.`"
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
