import HeadgateCore

/// Sees what goes into a sender of the daemon's own, and what comes out of it.
protocol SenderWitness: AnyObject {
    /// A batch is sent.
    func began(_ batch: Batch)
    /// It has ended. The witness tells the dispatcher, by `then`.
    func ended(_ batch: Batch, _ result: SendResult, then: (SendResult) -> Void)
}

/// A sender of the daemon's own with a witness between it and its dispatcher.
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
