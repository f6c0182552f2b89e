import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// A client of a ``ShareHistory``. It sends events in one namespace of a user, and checks each answer against the
/// model.
final class ShareClient {
    /// An event of a request.
    private struct Event {
        let id: String
        let filling: Int
        /// The dispatchers, or none for all.
        let queues: [String]

        var data: String { #"{"p":"\#(String(repeating: "p", count: filling))"}"# }

        var params: String {
            let narrowed = queues.isEmpty ? "" : #","dispatchers":["\#(queues[0])"]"#
            return #"{"event":"x","id":"\#(id)"\#(narrowed),"data":\#(data)}"#
        }

        /// Returns the size of the event as it is stored, in bytes. Its context is empty.
        func size(_ number: SequenceNumber) -> Int {
            let time = "2027-01-15T08:00:00.000Z"
            let head = #"{"id":"\#(id)","seq":\#(number),"event":"x","time":"\#(time)","received_at":"\#(time)""#
            return head.utf8.count + "{}".utf8.count + data.utf8.count
        }
    }

    let sender: ShareModel.Sender
    private let client: PlainClient
    private let history: ShareHistory

    /// - Parameter chosen: The namespace that the client names, or nil for the user's own.
    init(_ history: ShareHistory, _ uid: UInt32, _ chosen: String?, of service: Service) {
        self.history = history
        client = PlainClient(of: service, on: history.scheduler, history.record, uid: uid)
        let own = chosen.map { $0 == ShareHistory.common ? $0 : "uid:\(uid)/\($0)" }
        sender = ShareModel.Sender(uid: uid, namespace: own ?? "uid:\(uid)")
        if let chosen { client.ask("hello", #"{"client":{"name":"c"},"namespace":"\#(chosen)"}"#) { _ in } }
        client.deliver()
    }

    private var record: Record { history.record }
    private var model: ShareModel { history.model }
    var isContent: Bool { client.isContent }

    /// Sends events in one request.
    func track(_ count: Int) {
        let events = (0..<count).map { _ in event() }
        var (new, numbers, first) = (Tally.zero, [String: SequenceNumber](), model.last + 1)
        let known = history.known[sender.namespace] ?? [:]
        for event in events where known[event.id] == nil && numbers[event.id] == nil {
            numbers[event.id] = first
            new += Tally(events: 1, bytes: event.size(first))
            first += 1
        }
        let verdict = model.verdict(on: new, of: sender, at: history.scheduler.now)
        let isShared = model.isShared(with: new)
        if verdict == .stored {
            for event in events where numbers[event.id] == model.last + 1 {
                let queues = event.queues.isEmpty ? ShareHistory.queues : event.queues
                model.store(event.size(model.last + 1), for: Set(queues), of: sender, at: history.scheduler.now)
            }
            history.known[sender.namespace, default: [:]].merge(numbers) { $1 }
            if isShared { record.count(.sharedRoomUsed) }
        } else if verdict == .queueFull, (model.held + new).events <= model.limits.events {
            record.count(.shareRefused)
        }
        let what = "\(new.events) new events of \(sender.namespace) for user \(sender.uid), with \(model.held) held"
        ask(events) { [record] reason in
            record.insist(reason == verdict.reason, "\(what): \(reason ?? "stored"), not \(verdict.reason ?? "stored")")
        }
    }

    private func event() -> Event {
        let known = history.known[sender.namespace] ?? [:]
        history.lastID += 1
        // The ids of all events are equally long.
        let id = record.oneIn(12) ? known.keys.min() : nil
        return Event(
            id: id ?? "e\(100_000 + history.lastID)", filling: record.number(0...history.mostFilling),
            queues: record.oneIn(3) ? [record.pick(ShareHistory.queues)] : [])
    }

    /// Sends a request with events.
    /// - Parameter check: Called with the reason of a refusal, or nil.
    private func ask(_ events: [Event], _ check: @escaping (String?) -> Void) {
        let list = events.map(\.params).joined(separator: ",")
        let isOne = events.count == 1
        client.ask(isOne ? "track" : "track_many", isOne ? list : #"{"events":[\#(list)]}"#) { answer in
            if case .refused(let reason, _) = answer { check(reason) } else { check(nil) }
        }
        while client.deliver() {}
    }

    func deliver() { client.deliver() }
    func read() { client.read() }
    func leave() { client.leave() }
    func forget() { client.forget() }
}

extension ShareModel.Verdict {
    /// The reason of the refusal, or nil if there is none.
    var reason: String? {
        switch self {
        case .stored: nil
        case .queueFull: "queue_full"
        case .tooLarge: "event_too_large"
        }
    }
}
