import HeadgateClient

/// What became of the lines that were sent.
struct SendReport: Equatable {
    private(set) var acknowledged = 0
    private(set) var duplicates = 0
    private(set) var unrouted = 0
    private(set) var bad = 0
    /// The lines that are sent and not answered.
    private var unanswered: Set<Int> = []

    var isAllAnswered: Bool { unanswered.isEmpty }

    mutating func noteSent(_ line: Int) {
        unanswered.insert(line)
    }

    mutating func noteAcknowledged(_ line: Int, _ receipt: TrackReceipt) {
        unanswered.remove(line)
        acknowledged += 1
        if receipt.isDuplicate { duplicates += 1 }
        if receipt.isUnrouted { unrouted += 1 }
    }

    mutating func noteBad(_ line: Int) {
        unanswered.remove(line)
        bad += 1
    }

    /// `2 events acknowledged (1 duplicate), 1 bad line`.
    var summary: String {
        var remarks: [String] = []
        if duplicates > 0 { remarks.append(Quantity.counted(duplicates, "duplicate")) }
        if unrouted > 0 { remarks.append("\(Quantity.grouped(unrouted)) unrouted") }
        let remark = remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))"
        let end = bad > 0 ? ", \(Quantity.counted(bad, "bad line"))" : ""
        return Quantity.counted(acknowledged, "event") + " acknowledged" + remark + end
    }

    /// Which lines were not answered when all came to an early end; nil if all were.
    var remainder: String? {
        guard let first = unanswered.min() else { return nil }
        return "\(Quantity.counted(unanswered.count, "line")) not acknowledged, the first is line \(first)"
    }
}
