import HeadgateClient
import HeadgateData
import HeadgateText
import HeadgateWire

@testable import HeadgateCommands

/// A fixed noon, on a clock whose local time is UTC.
enum Fixed {
    static let clock = WallClock(now: Timestamp(milliseconds: 1_800_014_400_000)) { _ in 0 }
    static let style = Style(isColoured: false)

    /// Returns a time this many seconds before noon, in the form of the wire.
    static func ago(_ seconds: Int64) -> DataItem {
        .string(Timestamp(milliseconds: clock.now.milliseconds - seconds * 1_000).text)
    }

    static func barrier(_ entry: DataObject) -> ListedBarrier {
        ListedBarrier(entry)
    }

    /// A closed ManualBarrier of `collect`.
    static var manual: DataObject {
        [
            "id": "ManualBarrier:collect", "kind": "ManualBarrier", "scopes": ["collect"],
            "states": ["collect": "closed"], "flushable": false, "since": ago(120), "owner": nil, "word": "manual",
            "reason": "maintenance", "configuration": [:],
        ]
    }

    static var collect: DataObject {
        [
            "id": "collect", "kind": "http", "state": "blocked", "blocked_by": ["ManualBarrier:collect"], "pending": 12,
            "in_flight": 0, "sent": 3, "failed": 1, "dead": 0, "expired": 2, "evicted": 0, "oldest_ms": 121_000,
            "retry_at": ago(-90), "last_error": "HTTP 503", "flushing": true,
        ]
    }
}
