import HeadgateCore

@testable import HeadgateStore

/// A job that a ``StoreHistory`` requests from its store.
enum StoreAsk {
    case append(AppendGroup)
    case write([StoreChange])
    case read(after: SequenceNumber)
    case purgeDeadLetters(DeadLetterQuery)
    case rekey
    case close

    /// Returns the job for the store's engine.
    /// - Parameter then: Called with the answer.
    func job(_ then: @escaping (StoreAnswer) -> Void) -> StoreJob {
        switch self {
        case .append(let group): .append(group) { then(.done($0)) }
        case .write(let changes): .write(changes) { then(.done($0)) }
        case .read(let number): .ask({ $0.read(after: number) }, then: { then(.read($0)) })
        case .purgeDeadLetters(let query):
            .ask(isAboutDeadLetters: true, { $0.purgeDeadLetters(query) }, then: { then(.purged($0)) })
        case .rekey: .ask({ $0.rekey(nil) }, then: { then(.rekeyed($0)) })
        case .close: .close { then(.closed) }
        }
    }
}

/// The answer to a job.
enum StoreAnswer {
    /// An append or a write has ended, with an error or nil for success.
    case done(StoreFault?)
    case read(Result<Chunk?, StoreFault>)
    case purged(Result<Int, StoreFault>)
    case rekeyed(Result<StoreEncryption, StoreFault>)
    case closed
}
