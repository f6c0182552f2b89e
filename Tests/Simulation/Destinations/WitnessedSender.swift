import HeadgateCore

/// An observer of the batches and results of one of the daemon's own senders.
protocol SenderWitness: AnyObject {
    /// Called when a batch is sent.
    func began(_ batch: Batch)
    /// Called when a batch has ended. The witness passes the result on by `then`.
    func ended(_ batch: Batch, _ result: SendResult, then: (SendResult) -> Void)
}

/// One of the daemon's own senders with a witness between sender and dispatcher.
final class WitnessedSender: Sender {
    private let sender: any Sender
    private let witness: any SenderWitness

    init(_ sender: any Sender, _ witness: any SenderWitness) {
        self.sender = sender
        self.witness = witness
    }

    var format: BatchFormat { sender.format }
    var capacity: SenderCapacity { sender.capacity }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        witness.began(batch)
        sender.send(batch) { [witness] result in witness.ended(batch, result, then: then) }
    }

    func interrupt() {
        sender.interrupt()
    }

    func close() {
        sender.close()
    }
}
