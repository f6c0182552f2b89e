import HeadgateData

/// The start of a new dispatcher at an earlier event (Behaviour R4). The store keeps it with the dispatcher. Pure.
struct EarlyStart: Equatable, Sendable {
    /// The oldest event that the dispatcher gets, as its settings name it.
    var start: RewindRequest.Start
    /// The last event that was accepted before the dispatcher was added. Up to this event, the dispatcher's load rule is
    /// judged as events are read.
    var judgedThrough: SequenceNumber
    /// False while the dispatcher still has to be moved to the start. Until then it sends nothing.
    var isDone = false

    // MARK: Keeping

    /// Returns the name under which the store keeps the start of a dispatcher.
    static func name(of dispatcher: DispatcherNumber) -> String { "start:\(dispatcher)" }

    init(at start: RewindRequest.Start, judgedThrough: SequenceNumber) {
        (self.start, self.judgedThrough) = (start, judgedThrough)
    }

    /// Reads a kept start; nil if the bytes are not a start.
    init?(kept bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        let numbers = bytes.withUnsafeBytes { bytes in
            (0..<4).map { LittleEndian.load(bytes, at: 8 * $0, as: Int64.self) }
        }
        start = numbers[1] == 0 ? .sequenceNumber(numbers[2]) : .receipt(numbers[2])
        (isDone, judgedThrough) = (numbers[0] != 0, numbers[3])
    }

    var kept: [UInt8] {
        let (form, value): (Int64, Int64) =
            switch start {
            case .sequenceNumber(let number): (0, number)
            case .receipt(let stamp): (1, stamp)
            }
        return [isDone ? 1 : 0, form, value, judgedThrough].flatMap { LittleEndian.bytes($0) }
    }
}
