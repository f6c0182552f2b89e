/// The pace of a disk, which decides whether the loop's thread waits for the disk itself. A hand-over to another thread
/// and back takes some tens of microseconds if both threads sleep.
///
/// A quick answer saves that time. A slow one delays all clients of the thread, which costs a hundred times as much.
/// The loop's thread therefore waits for a disk that is slow once in a thousand times, and not for one that is slow
/// once in some hundred times.
struct DiskPace {
    /// The savings of quick answers, less the costs of slow ones.
    private var credit = 0

    /// The shortest wait that other clients notice.
    private static let slow = Duration.milliseconds(2)
    /// The shortest wait for which the disk counts as hanging. Such a wait ends the credit at once.
    private static let hanging = Duration.milliseconds(5)
    private static let priceOfSlow = 100
    /// The credit that a quick disk has at least.
    private static let needed = 8
    /// The limits of the credit, so that the distant past does not count.
    private static let bounds = -1_000...200

    /// True if the next answer is expected soon.
    var isQuick: Bool { credit >= DiskPace.needed }

    /// Records the duration of an answer.
    mutating func answered(after duration: Duration) {
        if duration < DiskPace.slow {
            credit += 1
        } else {
            credit = (duration < DiskPace.hanging ? credit : min(credit, 0)) - DiskPace.priceOfSlow
        }
        credit = min(max(credit, DiskPace.bounds.lowerBound), DiskPace.bounds.upperBound)
    }
}
