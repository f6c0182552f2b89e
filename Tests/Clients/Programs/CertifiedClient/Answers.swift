import HeadgateClient
import HeadgateData

// Converts the client's results back to the daemon's JSON, so that tests notice if the client loses anything.

extension DataItem {
    /// Returns a JSON value, or null for nil.
    static func text(_ text: String?) -> DataItem { text.map { .string($0) } ?? .null }
    static func count(_ count: Int?) -> DataItem { count.map { .number(DataNumber($0)) } ?? .null }
    static func time(_ time: Timestamp?) -> DataItem { .text(time?.text) }
    static func texts(_ texts: [String]) -> DataItem { .array(texts.map { .string($0) }) }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int {
        Int(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
    }
}

extension ListedDispatcher {
    var object: DataObject {
        [
            "id": .string(id), "kind": .string(kind), "state": isOpen ? "open" : "blocked",
            "blocked_by": .texts(blockedBy),
            "pending": .count(pending), "in_flight": .count(inFlight), "sent": .count(sent), "failed": .count(failed),
            "dead": .count(dead), "expired": .count(expired), "evicted": .count(evicted),
            "oldest_ms": .count(oldest?.wholeMilliseconds), "retry_at": .time(retryAt), "last_error": .text(lastError),
            "last_error_at": .time(lastErrorAt),
            "flushing": .bool(isFlushing), "rewinds": .count(rewinds),
        ]
    }
}

extension ListedBarrier {
    var object: DataObject {
        [
            "id": .string(id), "kind": .string(kind), "scopes": .texts(scopes),
            "states": .object(DataObject(states.map { ($0.dispatcher, .string($0.state.rawValue)) })),
            "flushable": .bool(isFlushable), "since": .time(since), "owner": .text(owner), "word": .string(word),
            "reason": .text(reason), "configuration": .object(configuration),
        ]
    }
}

extension OutcomeCounts {
    var object: DataObject {
        [
            "dispatcher": .string(dispatcher), "delivered": .count(delivered), "retried": .count(retried),
            "dead": .count(dead), "expired": .count(expired), "evicted": .count(evicted),
            "last_error": .text(lastError),
        ]
    }
}

extension ListedClient {
    var object: DataObject {
        ["session": .string(session), "client": .text(client), "uid": .count(uid), "pid": .count(pid)]
    }
}

extension FinishedFlush {
    var object: DataObject {
        let parts = dispatchers.map { part -> (String, DataItem) in
            let object: DataObject = [
                "sent": .count(part.sent), "failed": .count(part.failed), "left": .count(part.left),
                "blocked_by": .texts(part.blockedBy),
            ]
            return (part.dispatcher, .object(object))
        }
        return ["flush": .string(flush), "ended": .string(ended.rawValue), "dispatchers": .object(DataObject(parts))]
    }
}

extension PeekedEvents {
    var object: DataObject {
        ["events": .array(events.map { .object($0) }), "next": .count(next.map { Int($0) })]
    }
}

extension DeadLetterPage {
    var object: DataObject {
        ["dead_letters": .array(deadLetters.map { .object($0.object) }), "next": .count(next)]
    }
}

extension ListedDeadLetter {
    fileprivate var object: DataObject {
        [
            "letter": .count(number), "dispatcher": .string(dispatcher), "reason": .string(reason),
            "status": .count(status), "answer": .text(answer), "attempts": .count(attempts),
            "first_failed_at": .time(firstFailedAt), "died_at": .time(diedAt),
            "event": event.map { .object($0) } ?? .null,
        ]
    }
}

extension BoardOutcome {
    var object: DataObject {
        var object: DataObject = ["done": .bool(isDone)]
        object["output"] = output
        return object
    }
}
