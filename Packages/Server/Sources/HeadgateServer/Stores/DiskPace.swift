/// How quickly a disk has answered lately, and so whether to wait for it in place is quicker than to have another thread wait:
/// to hand something over and be told of its end takes some tens of microseconds, where both threads sleep.
struct DiskPace {
    /// Quick answers since the last slow one.
    private var quick = 0
    /// So many are needed; more after each slow one, so that a disk that is slow now and then is waited for elsewhere.
    private var needed = DiskPace.fewest

    private static let slow = Duration.milliseconds(2)
    private static let fewest = 8
    private static let most = 1_024
    /// After so many quick answers the slow ones are forgotten.
    private static let forgiven = 16_384

    /// Whether the next answer can be expected soon.
    var isQuick: Bool { quick >= needed }

    /// The disk has answered after so long.
    mutating func answered(after duration: Duration) {
        guard duration < DiskPace.slow else {
            quick = 0
            needed = min(needed * 2, DiskPace.most)
            return
        }
        quick += 1
        if quick >= DiskPace.forgiven { needed = DiskPace.fewest }
    }
}
