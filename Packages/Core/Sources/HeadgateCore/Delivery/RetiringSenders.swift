/// Senders that a change of settings replaced. Each finishes what it has on its way and is closed then, so that a reload
/// loses nothing and sends nothing twice (Behaviour S3).
struct RetiringSenders {
    private var waiting: [ObjectIdentifier: (sender: any Sender, batches: Int)] = [:]

    /// Retires a sender that has so many batches on their way.
    mutating func retire(_ sender: any Sender, batches: Int) {
        guard batches > 0 else { return sender.close() }
        waiting[ObjectIdentifier(sender)] = (sender, batches)
    }

    /// A batch of a sender, retired or not, has come to its end.
    mutating func finished(_ sender: ObjectIdentifier) {
        guard let entry = waiting[sender] else { return }
        waiting[sender] = entry.batches > 1 ? (entry.sender, entry.batches - 1) : nil
        if entry.batches == 1 { entry.sender.close() }
    }

    /// Batches that are on their way with retired senders.
    var batches: Int { waiting.values.reduce(0) { $0 + $1.batches } }

    /// Has all give up what is on its way.
    func interrupt() {
        for entry in waiting.values { entry.sender.interrupt() }
    }
}
