import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `dispatcher.list`, `dispatcher.pause`, `dispatcher.resume` and `dispatcher.retry`.
struct DispatcherMethods: MethodFamily {
    let gate: Headgate
    let log: Log

    private static let list = FamilyMethod<Self>(
        "dispatcher.list", .observe, "Returns every dispatcher with the state of its queue.", changesNothing: true,
        result: OutputShape.object([all]).schema
    ) { parts, call in call.reply.answer(.object([all]), parts.gate) }

    private static let reason = Field(
        optional: "reason", .string(0...Limits.longestReason), "the reason, shown with the barrier")

    private static let pause = FamilyMethod<Self>(
        "dispatcher.pause", .control, "Pauses a dispatcher: closes its ManualBarrier. It stays paused across restarts.",
        Field("id", .string), reason,
        Field(optional: "flushable", default: false, "true: a flush passes the barrier"),
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
            parts.log.write(.dispatcherResumed, ["dispatcher": .string(id), "reason": .string(reason)])
        }
    }

    private static let retry = FamilyMethod<Self>(
        "dispatcher.retry", .control, "Ends a dispatcher's backoff: its next attempt begins now.",
        Field("id", .string, "the dispatcher's id"), reasons: [.notFound]
    ) { parts, call, id throws(RPCError) in
        let cause = parts.gate.dispatcherSummaries.first { $0.id == id }?.lastError
        guard let wasWaiting = parts.gate.endBackoff(of: id) else { throw .unknownDispatcher(id) }
        if wasWaiting {
            parts.log.write(.dispatcherRetried, ["dispatcher": .string(id), "cause": .string(cause ?? "a failure")])
        }
        call.reply.answer()
    }

    // MARK: A dispatcher

    /// The members of `dispatcher.list` and `status` with all dispatchers and orphans.
    static let all = OutputMembers<Headgate>.all([
        .required("dispatchers", .array(dispatcher), \.dispatcherSummaries),
        .required("orphans", .array(orphan), \.dispatchers.orphanSummaries),
    ])

    /// A dispatcher in `dispatcher.list`, `status` and the topic `dispatchers`.
    static let dispatcher = OutputShape<DispatcherSummary>.object([
        .required("id", .name, \.id), .required("kind", .name, \.kind),
        .required("state", .word, { $0.isOpen ? DispatcherState.open : .blocked }),
        .required("blocked_by", .array(.name), \.blockedBy, "the ids of the barriers that block the dispatcher"),
        .required("pending", .count, \.pending, "pending events"), .required("in_flight", .count, \.inFlight),
        counters(\.nameInList) { "\($0.meaning) since the start" }.of(\.counters), lastAttempt,
        .required("flushing", .bool, \.isFlushing),
    ]).named("Dispatcher")

    private static let lastAttempt = OutputMembers<DispatcherSummary>.all([
        .required("oldest_ms", .nullable(.milliseconds), \.oldest, "the age of the oldest pending event"),
        .required("retry_at", .nullable(.time), \.retryAt),
        .required(
            "last_error", .nullable(.text), \.lastError, "the cause of the last failed attempt, null after a success"),
        .required("last_error_at", .nullable(.time), \.lastErrorAt, "the time of that attempt"),
    ])

    /// Returns a dispatcher's counters as members. Counters without a name are left out.
    static func counters(
        _ name: (DispatcherCounter) -> String?, _ note: (DispatcherCounter) -> String
    ) -> OutputMembers<Counters<DispatcherCounter>> {
        .all(
            DispatcherCounter.allCases.compactMap { counter in
                name(counter).map { .required(key: $0, .count, { $0[counter] }, note(counter)) }
            })
    }

    /// An orphan in `dispatcher.list` and `status`: the queue of a dispatcher that is no longer configured.
    private static let orphan = OutputShape<OrphanSummary>.object([
        .required("id", .name, \.id), .required("events", .count, \.events, "pending events"),
        .required(
            "oldest_ms", .nullable(.milliseconds), \.oldest,
            "the age of the oldest event; null while the daemon reads it"),
        .required("until", .time, \.until, "the time at which the queue is dropped"),
    ]).named("Orphan")

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

extension OutputShape where Value == Duration {
    /// The value of a member whose name ends in `_ms`.
    static var milliseconds: OutputShape { OutputShape<Int64>.count.of(\.wholeMilliseconds) }
}

/// The state of a dispatcher, in `dispatcher.list` and `changed`.
enum DispatcherState: String, CaseIterable {
    /// No barrier blocks the dispatcher.
    case open
    /// At least one barrier blocks the dispatcher.
    case blocked
}
