import HeadgateWire

/// What a watch tells (Protocol, `watch`; Behaviour B10).
public enum WatchNews {
    /// The daemon watches, for the first time or again. How things stand follows, topic by topic, as changes: what was
    /// known before counts no more.
    case began
    /// The params of a notification `changed`. They are gone after the call: read them, or copy their
    /// `item`.
    case changed(JSONView)
    /// The connection is gone, for this reason. The next one is looked for, on which the watch begins again.
    case interrupted(ClientError)
    /// Nothing more comes: the daemon refused, did not come back in time, or the connection was closed. After
    /// `abandon` it is a `CancellationError`.
    case ended(any Error)
}
