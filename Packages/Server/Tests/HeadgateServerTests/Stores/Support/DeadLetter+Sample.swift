import HeadgateCore
import HeadgateData

extension DeadLetter {
    static func sample(
        _ number: SequenceNumber, dispatcher: DispatcherNumber = 1, record: [UInt8] = Array("{}".utf8)
    ) -> DeadLetter {
        DeadLetter(
            dispatcher: dispatcher, sequenceNumber: number, reason: .maxAttempts, status: 503, answer: "busy",
            attempts: 100, firstFailedAt: Timestamp(milliseconds: 5), diedAt: Timestamp(milliseconds: 6), record: record
        )
    }
}
