import HeadgateCore

/// What may be deleted, and has not been yet. It is done in small steps, so that no append waits long for it.
struct StoreChores {
    /// Groups up to here may go.
    private(set) var trimThrough: SequenceNumber?
    /// Ids of events up to here may go.
    private(set) var forgetThrough: SequenceNumber?
    /// Groups up to here are gone, or cannot be deleted.
    private(set) var trimmed: SequenceNumber = 0
    private var isPaused = false

    /// Whether there is something to do now.
    var isDue: Bool {
        !isPaused && (trimThrough != nil || forgetThrough != nil)
    }

    /// Takes note of a change that makes room.
    mutating func note(_ change: StoreChange) {
        switch change {
        case .trim(let through): trimThrough = max(through, trimThrough ?? through)
        case .forgetIDs(let through): forgetThrough = max(through, forgetThrough ?? through)
        default: break
        }
    }

    /// Groups up to `last` were deleted, or given up.
    mutating func trimmed(_ step: ChoreStep) {
        trimmed = max(trimmed, step.last)
        if step.isLast { trimThrough = nil }
    }

    mutating func forgot(_ step: ChoreStep) {
        if step.isLast { forgetThrough = nil }
    }

    /// What failed is tried again with the next jobs, not over and over.
    mutating func pause() {
        isPaused = true
    }

    mutating func resume() {
        isPaused = false
    }
}

/// A bounded piece of a chore.
struct ChoreStep {
    /// The last row that goes; 0 when none does.
    private(set) var last: SequenceNumber = 0
    private var rows = 0
    private let mostRows: Int
    private var bytes = 0
    /// Whether nothing is left for another step.
    private(set) var isLast = true

    private static let mostBytes = 4 << 20

    init(mostRows: Int = 64) {
        self.mostRows = mostRows
    }

    /// Takes a row in.
    /// - Returns: whether there is room for more.
    mutating func take(_ row: SequenceNumber, bytes size: Int) -> Bool {
        last = row
        rows += 1
        bytes += size
        isLast = rows < mostRows && bytes < ChoreStep.mostBytes
        return isLast
    }
}
