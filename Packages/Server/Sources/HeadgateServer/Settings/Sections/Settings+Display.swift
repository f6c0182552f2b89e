import HeadgateData

extension Settings {
    /// The sections that have defaults as the configuration would have them written; reading it gives the same again.
    var sections: DataObject {
        [
            "durability": .string(durability.rawValue),
            "limits": .object(limits.object),
            "access": .object(access.object),
            "store": .object(store.object),
            "shutdown_timeout_ms": .init(milliseconds: shutdownTimeout),
            "flush_on": .object(flushOn.object),
            "collectors": .object(collectors.object),
            "network": .object(network.object),
        ]
    }
}

extension DataItem {
    /// A member whose name ends in `_ms`.
    init(milliseconds duration: Duration) {
        self = .number(DataNumber(Int(duration / .milliseconds(1))))
    }

    /// A member whose name ends in `_s`.
    init(seconds duration: Duration) {
        self = .number(DataNumber(Int(duration / .seconds(1))))
    }
}
