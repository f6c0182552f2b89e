/// An estimate of the pending events of each sender, in a fixed amount of memory. Pure.
///
/// Accepted events are counted in spans of sequence numbers, by sender. A span is dropped when all dispatchers have
/// passed it; a span that they have passed in part counts in part. When there are many spans, neighbours are joined.
struct PendingShares {
    /// The events of one sender in a span.
    struct Part: Equatable {
        let account: Int
        var tally: Tally
    }

    private struct Span {
        /// The sequence number before the first event.
        let start: SequenceNumber
        let end: SequenceNumber
        var parts: [Part]

        /// Returns the part of the span's events that is behind a sequence number, from 0 to 1.
        func left(behind settled: SequenceNumber) -> Double {
            guard settled > start else { return 1 }
            guard settled < end else { return 0 }
            return Double(end - settled) / Double(end - start)
        }
    }

    static let mostSpans = 128
    private static let leastWidth: SequenceNumber = 1024

    private var spans: [Span] = []
    /// The sequence number up to which events are in spans.
    private var end: SequenceNumber
    /// The number of events that complete a span.
    private var width = PendingShares.leastWidth
    private var settled: SequenceNumber = 0

    /// - Parameter last: the last sequence number that is in use already. Earlier events are of unknown senders.
    init(after last: SequenceNumber) {
        end = last
    }

    /// Returns true if the events up to a sequence number complete the present span.
    func isSpanComplete(at last: SequenceNumber) -> Bool { last - end >= width }

    /// Ends the present span.
    /// - Parameter parts: its events, by sender.
    mutating func endSpan(at last: SequenceNumber, _ parts: [Part]) {
        if last > settled { spans.append(Span(start: end, end: last, parts: parts)) }
        end = last
        if spans.count > PendingShares.mostSpans { join() }
    }

    /// Drops the spans that all dispatchers have passed.
    mutating func settle(through point: SequenceNumber) {
        settled = max(settled, point)
        let passed = spans.prefix { $0.end <= settled }.count
        guard passed > 0 else { return }
        spans.removeFirst(passed)
        if spans.isEmpty { width = PendingShares.leastWidth }
    }

    /// Returns true if a sender has events in a span.
    func has(_ account: Int) -> Bool {
        spans.contains { $0.parts.contains { $0.account == account } }
    }

    /// Returns the pending events by sender.
    /// - Parameters:
    ///   - last: the last sequence number in use.
    ///   - present: the events of the present span, by sender.
    func pending(through last: SequenceNumber, present: [Part]) -> [Int: Tally] {
        let all = spans + (last > end ? [Span(start: end, end: last, parts: present)] : [])
        return all.reduce(into: [:]) { sums, span in
            let left = span.left(behind: settled)
            for part in span.parts { sums[part.account, default: .zero] += part.tally.scaled(by: left) }
        }
    }

    private mutating func join() {
        spans = stride(from: 0, to: spans.count, by: 2).map { index in
            guard index + 1 < spans.count else { return spans[index] }
            return PendingShares.joined(spans[index], spans[index + 1])
        }
        width *= 2
    }

    private static func joined(_ first: Span, _ second: Span) -> Span {
        var sums: [Int: Tally] = [:]
        for part in first.parts + second.parts { sums[part.account, default: .zero] += part.tally }
        let parts = sums.sorted { $0.key < $1.key }.map { Part(account: $0.key, tally: $0.value) }
        return Span(start: first.start, end: second.end, parts: parts)
    }
}

extension Tally {
    /// Returns a part of the tally, rounded.
    func scaled(by part: Double) -> Tally {
        part == 1
            ? self
            : Tally(events: Int((Double(events) * part).rounded()), bytes: Int((Double(bytes) * part).rounded()))
    }
}
