/// What may name a barrier.
enum BarrierName {
    /// The most bytes that a name may have.
    static let longest = 128

    /// What is wrong with a name; nil when it will do.
    static func complaint(about id: String) -> String? {
        let isPrintable = id.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        if (1...longest).contains(id.utf8.count), isPrintable { return nil }
        return "a barrier's name has 1 to \(longest) bytes and no control characters"
    }
}
