/// The rule for the IDs of barriers.
enum BarrierName {
    /// The most bytes of an ID.
    static let longest = 128

    /// Returns the fault of an ID, or nil if the ID is valid.
    static func problem(about id: String) -> String? {
        let isPrintable = id.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        if (1...longest).contains(id.utf8.count), isPrintable { return nil }
        return "must have 1 to \(longest) bytes and no control characters"
    }
}
