import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `dispatcher.list`, `dispatcher.pause`, `dispatcher.resume` and `dispatcher.retry`.
struct DispatcherMethods: MethodFamily {
    let gate: Headgate
    let log: Log

    private static let list = FamilyMethod<Self>(
        "dispatcher.list", .observe, "Returns every dispatcher with the state of its queue.", changesNothing: true,
        result: .object([.required("dispatchers", .array(dispatcher)), .required("orphans", .array(orphan))])
    ) { parts, call in
        call.reply.answer { writer in
            writer.beginObject()
            writer.dispatchers(parts.gate.dispatcherSummaries)
            writer.orphans(parts.gate.dispatchers.orphanSummaries)
            writer.endObject()
        }
    }

    private static let reason = Field(
        optional: "reason", .string(0...Limits.longestReason), "the reason, shown with the barrier")

    private static let pause = FamilyMethod<Self>(
        "dispatcher.pause", .control, "Pauses a dispatcher: closes its ManualBarrier. It stays paused across restarts.",
        Field("id", .string), reason,
        Field(optional: "flushable", usually: false, "true: a flush passes the barrier"),
        reasons: [.notFound, .storage]
    ) { parts, call, id, reason, isFlushable throws(RPCError) in
        let isKnown = parts.gate.pause(id, reason: reason, isFlushable: isFlushable, then: call.reply.answerWritten())
        guard isKnown else { throw .unknownDispatcher(id) }
    }

    private static let resume = FamilyMethod<Self>(
        "dispatcher.resume", .control, "Resumes a dispatcher: opens its ManualBarrier.", Field("id", .string), reason,
        reasons: [.notFound, .storage]
    ) { parts, call, id, reason throws(RPCError) in
        guard parts.gate.resume(id, then: call.reply.answerWritten()) else { throw .unknownDispatcher(id) }
        // An open barrier shows no reason, so the log keeps it.
        if let reason {
            parts.log.tell(.dispatcherResumed, ["dispatcher": .string(id), "reason": .string(reason)])
        }
    }

    private static let retry = FamilyMethod<Self>(
        "dispatcher.retry", .control, "Ends a dispatcher's backoff: its next attempt begins now.",
        Field("id", .string, "the dispatcher's id"), reasons: [.notFound]
    ) { parts, call, id throws(RPCError) in
        let cause = parts.gate.dispatcherSummaries.first { $0.id == id }?.lastError
        guard let wasWaiting = parts.gate.endBackoff(of: id) else { throw .unknownDispatcher(id) }
        if wasWaiting {
            parts.log.tell(.dispatcherRetried, ["dispatcher": .string(id), "cause": .string(cause ?? "a failure")])
        }
        call.reply.answer()
    }

    /// The schema of a dispatcher in `dispatcher.list`, `status` and the topic `dispatchers`.
    static let dispatcher = Schema.named("Dispatcher", .object(state + counters + lastAttempt))

    /// The schema of an orphan in `dispatcher.list` and `status`: the queue of a dispatcher that is no longer
    /// configured.
    static let orphan = Schema.named(
        "Orphan",
        .object([
            .required("id", .name), .required("events", .count, "pending events"),
            .required("oldest_ms", .nullable(.count), "the age of the oldest event; null while the daemon reads it"),
            .required("until", .time, "the time at which the queue is dropped"),
        ]))

    private static let state: [Schema.Member] = [
        .required("id", .name), .required("kind", .name), .required("state", .words(of: DispatcherState.self)),
        .required("blocked_by", .array(.name), "the ids of the barriers that block the dispatcher"),
        .required("pending", .count, "pending events"), .required("in_flight", .count),
    ]

    private static let counters: [Schema.Member] = DispatcherCounter.allCases.compactMap { counter in
        counter.nameInList.map { .required($0, .count, "\(counter.meaning) since the start") }
    }

    private static let lastAttempt: [Schema.Member] = [
        .required("oldest_ms", .nullable(.count), "the age of the oldest pending event"),
        .required("retry_at", .nullable(.time)),
        .required("last_error", .nullable(.text), "the cause of the last failed attempt, null after a success"),
        .required("last_error_at", .nullable(.time), "the time of that attempt"),
        .required("flushing", .bool),
    ]

    static let methods = [list, pause, resume, retry]
}

extension Reply {
    /// Returns a closure that answers a change once it is stored for the next start.
    func answerWritten() -> (StoreFault?) -> Void {
        { fault in
            guard fault == nil else {
                return self.fail(
                    RPCError(.storage, "the change is in force but could not be saved: it is lost at the next start"))
            }
            self.answer()
        }
    }
}

extension RPCError {
    /// Makes the error that there is no dispatcher with this ID.
    static func unknownDispatcher(_ id: String) -> RPCError {
        RPCError(.notFound, "there is no dispatcher \(id)")
    }
}

extension JSONWriter {
    /// Writes the member `dispatchers` of `dispatcher.list` and `status`.
    mutating func dispatchers(_ summaries: [DispatcherSummary]) {
        member("dispatchers")
        beginArray()
        for summary in summaries {
            element()
            dispatcher(summary)
        }
        endArray()
    }

    /// Writes the member `orphans` of `dispatcher.list` and `status`.
    mutating func orphans(_ summaries: [OrphanSummary]) {
        member("orphans")
        beginArray()
        for summary in summaries {
            element()
            beginObject()
            member("id", summary.id)
            member("events", summary.events)
            member("oldest_ms", item: summary.oldest.milliseconds)
            member("until", summary.until)
            endObject()
        }
        endArray()
    }

    private mutating func dispatcher(_ summary: DispatcherSummary) {
        beginObject()
        member("id", summary.id)
        member("kind", summary.kind)
        member("state", (summary.isOpen ? DispatcherState.open : .blocked).rawValue)
        member("blocked_by", item: .array(summary.blockedBy.map { .string($0) }))
        member("pending", summary.pending)
        member("in_flight", summary.inFlight)
        counters(summary.counters, named: \.nameInList)
        member("oldest_ms", item: summary.oldest.milliseconds)
        member("retry_at", item: summary.retryAt.map { .string($0.text) } ?? .null)
        member("last_error", item: summary.lastError.map { .string($0) } ?? .null)
        member("last_error_at", item: summary.lastErrorAt.map { .string($0.text) } ?? .null)
        member("flushing", summary.isFlushing)
        endObject()
    }

    /// Writes a dispatcher's counters as members. Counters without a name are left out.
    mutating func counters(_ counters: Counters<DispatcherCounter>, named name: (DispatcherCounter) -> String?) {
        for counter in DispatcherCounter.allCases {
            guard let name = name(counter) else { continue }
            member(key: name)
            integer(counters[counter])
        }
    }
}

extension OutputShape where Value == Duration {
    /// The value of a member whose name ends in `_ms`.
    static var milliseconds: OutputShape { OutputShape<Int64>.count.of(\.wholeMilliseconds) }
}

extension Duration? {
    /// The value of a member whose name ends in `_ms`.
    var milliseconds: DataItem {
        map { .number(DataNumber(Int($0.wholeMilliseconds))) } ?? .null
    }
}

/// The state of a dispatcher, in `dispatcher.list` and `changed`.
enum DispatcherState: String, CaseIterable {
    /// No barrier blocks the dispatcher.
    case open
    /// At least one barrier blocks the dispatcher.
    case blocked
}
