/// How quickly a disk has answered lately, and so whether to wait for it in place is quicker than to have another thread wait:
/// to hand something over and be told of its end takes some tens of microseconds, where both threads sleep.
///
/// A quick answer saves that, a slow one costs everybody who is served by the thread that waits a hundred times as much. So
/// they are weighed against each other: a disk that is slow once in some hundred times is not worth waiting for, one that is
/// slow once in a thousand is.
struct DiskPace {
    /// What quick answers have saved beyond what slow ones have cost.
    private var credit = 0

    /// From here on others notice that they wait.
    private static let slow = Duration.milliseconds(2)
    /// So long the disk is not waited for in place, whatever it saves: it hangs.
    private static let hanging = Duration.milliseconds(5)
    private static let priceOfSlow = 100
    /// Credit that is needed.
    private static let needed = 8
    /// What lies long back does not count.
    private static let bounds = -1_000...200

    /// Whether the next answer can be expected soon.
    var isQuick: Bool { credit >= DiskPace.needed }

    /// The disk has answered after so long.
    mutating func answered(after duration: Duration) {
        if duration < DiskPace.slow {
            credit += 1
        } else {
            credit = (duration < DiskPace.hanging ? credit : min(credit, 0)) - DiskPace.priceOfSlow
        }
        credit = min(max(credit, DiskPace.bounds.lowerBound), DiskPace.bounds.upperBound)
    }
}
