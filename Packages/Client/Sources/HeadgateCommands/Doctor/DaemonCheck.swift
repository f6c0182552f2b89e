import HeadgateClient
import HeadgateData
import HeadgateText

/// Judges the daemon's status.
enum DaemonCheck {
    /// Returns the findings about a status.
    /// - Parameters:
    ///   - status: the result of `status`.
    ///   - version: the version of this tool.
    ///   - clock: the clock that gives the present time.
    static func findings(
        _ status: DataObject, version: String = Version.current, clock: WallClock = .local
    ) -> [Finding] {
        [service(status, version)] + warnings(status) + losses(status) + dispatchers(status, clock)
    }

    private static func service(_ status: DataObject, _ version: String) -> Finding {
        let its = status.get(key: "version", as: String.self) ?? "?"
        let uptime = Quantity.time(.milliseconds(status.get(key: "uptime_ms", as: Int.self) ?? 0))
        guard status.get(key: "ready") ?? false else {
            return .wrong("daemon", "version \(its) is not ready", "check the daemon's log for the reason")
        }
        guard its == version else {
            return .doubtful(
                "daemon", "is version \(its), and this tool \(version)", "restart the one that was not updated")
        }
        return .fine("daemon", "version \(its) is ready, up \(uptime)")
    }

    private static func warnings(_ status: DataObject) -> [Finding] {
        (status.get(key: "warnings", as: [String].self) ?? []).map { .doubtful("daemon", $0) }
    }

    /// Returns the findings about losses that neither clients nor an operator would otherwise notice.
    private static func losses(_ status: DataObject) -> [Finding] {
        let counters = status.get(key: "counters", as: DataObject.self) ?? [:]
        return (CounterAdvice.ofEvents + CounterAdvice.ofService).compactMap { trouble -> Finding? in
            let count: Int = counters.get(key: trouble.counter) ?? 0
            guard count > 0 else { return nil }
            let losses = "\(Quantity.counted(count, trouble.noun)) \(trouble.words) since the daemon started"
            return .doubtful("counters", losses, trouble.advice)
        }
    }

    private static func dispatchers(_ status: DataObject, _ clock: WallClock) -> [Finding] {
        let dispatchers = ListedDispatcher.list(in: status) ?? []
        guard !dispatchers.isEmpty else {
            return [
                .wrong(
                    "dispatchers", "no dispatcher is configured, so no event is stored",
                    "add a dispatcher to the configuration")
            ]
        }
        return dispatchers.map { finding($0, clock) }
    }

    private static func finding(_ dispatcher: ListedDispatcher, _ clock: WallClock) -> Finding {
        let flying = dispatcher.inFlight > 0 ? ", \(Quantity.grouped(dispatcher.inFlight)) in flight" : ""
        let waiting = "\(Quantity.counted(dispatcher.pending, "event")) pending\(flying)"
        let age = dispatcher.oldest.map { ", the oldest \(Quantity.time($0)) old" } ?? ""
        if dispatcher.blockedBy.contains("DeadLettersBarrier:\(dispatcher.id)") {
            return .wrong(
                dispatcher.id, "\(waiting)\(age), blocked: the limit of dead letters is reached",
                "`headgate dead-letters` lists the reasons; fix the cause, then `headgate dead-letters requeue` sends the events "
                    + "again and makes room, or raise store.max_dead_letters")
        }
        if let error = dispatcher.lastErrorText(clock) {
            return .wrong(
                dispatcher.id, "\(error); \(waiting)\(age)",
                dispatcher.pending + dispatcher.inFlight > 0
                    ? "\(subject(of: dispatcher.lastError)); `headgate barriers` shows the next attempt, or how to resume"
                    : "the events of that attempt are not pending: "
                        + "`headgate dead-letters --dispatcher \(dispatcher.id)` lists dead ones, with the reasons")
        }
        guard dispatcher.isOpen || dispatcher.pending == 0 else {
            return .doubtful(
                dispatcher.id, "\(waiting)\(age), blocked by \(dispatcher.blockedBy.joined(separator: ", "))",
                "`headgate barriers` shows what would open them")
        }
        return .fine(dispatcher.id, "\(waiting)\(age), \(Quantity.grouped(dispatcher.sent)) delivered")
    }

    /// Returns what to check first after a dispatcher's last error.
    private static func subject(of error: String?) -> String {
        let error = error ?? ""
        if error.hasPrefix("TLS: ") {
            return "check the destination's certificate, and the files of `tls` in the dispatcher's settings"
        }
        guard loginErrors.contains(error) else { return "check the destination" }
        return "check the login in the dispatcher's settings, and its rights at the destination"
    }

    /// The last errors of a dispatcher whose destination refuses the login, or what the login may do.
    private static let loginErrors: Set<String> = [
        "HTTP 401", "HTTP 403", "NATS: authorization violation", "NATS: permissions violation",
        "Kafka: authentication failed", "Kafka: not allowed to write to the topic",
    ]
}
