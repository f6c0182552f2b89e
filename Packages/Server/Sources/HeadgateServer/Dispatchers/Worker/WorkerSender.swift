import HeadgateCore

/// The way out of a dispatcher of kind `worker` (Behaviour K3). Who works for the dispatcher outlives it: a change of the
/// settings ends no subscription.
final class WorkerSender: Sender {
    let format = BatchFormat.distinctJSONArray

    private let workforce: Workforce

    init(_ workforce: Workforce) {
        self.workforce = workforce
    }

    var capacity: SenderCapacity { workforce.capacity }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        workforce.send(batch, then: then)
    }

    func interrupt() {
        workforce.interrupt()
    }

    /// There is nothing of its own.
    func close() {}
}
