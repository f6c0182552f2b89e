import HeadgateWire

/// The cancelled watches that the daemon still has on the present connection. They end with the connection. The
/// daemon may use their ids again on the next one.
struct CancelledWatches {
    /// The cancelled watches that the daemon has not answered yet.
    var unwanted: Set<CallNumber> = []
    /// The calls that end watches.
    var calls: Set<ClientCall> = []
}

/// A watch of this client.
struct ClientWatch {
    /// The daemon's id on the present connection; nil while the daemon does not watch.
    var id: String?
    /// Reports news of the watch to the program.
    let notify: (WatchNews) -> Void
}

/// Reports of a watch (Protocol, `watch`; Behaviour B10).
public enum WatchNews {
    /// The daemon watches, for the first time or again. The complete state follows, topic by topic, as changes. It
    /// replaces the earlier state.
    case began
    /// The params of a notification `changed`. They are only valid during the call: read them, or copy their `item`.
    case changed(JSONView)
    /// The connection is lost for this reason. The watch begins again on the next connection.
    case interrupted(ClientError)
    /// No more changes come: the daemon refused the watch, did not come back in time, or the connection was closed. A
    /// `CancellationError` after `cancel`.
    case ended(any Error)
}
