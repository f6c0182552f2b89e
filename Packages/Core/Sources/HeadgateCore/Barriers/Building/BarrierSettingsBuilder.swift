import HeadgateData

/// Writes a barrier's entry of the settings (Behaviour S4), for programs that set it:
///
///     let entry = BarrierSettingsBuilder(id: "night", kind: ScheduleBarrier.id)
///         .setScopes([.dispatcher(id: "archive")]).set("start_hour", 22).build()
open class BarrierSettingsBuilder {
    /// The barrier's name, which is that of its entry.
    public let id: String
    /// Which barrier it is.
    public let kind: String
    private var scopes: [BarrierScope]?
    private var stateOnError: BarrierState?
    private var configuration: DataObject = [:]

    /// - Parameter kind: nil: the id is the kind's name.
    public init(id: String, kind: String? = nil) {
        self.id = id
        self.kind = kind ?? id
    }

    /// Sets what the barrier stands before; none switches it off (Behaviour B4).
    @discardableResult
    public func setScopes(_ scopes: [BarrierScope]) -> Self {
        self.scopes = scopes
        return self
    }

    /// Sets the barrier's state when its code throws (Behaviour B9).
    @discardableResult
    public func setOnError(_ state: BarrierState) -> Self {
        stateOnError = state
        return self
    }

    /// Sets a member of the barrier's configuration; nil takes it away.
    @discardableResult
    public func set(_ key: String, _ value: DataItem?) -> Self {
        configuration[key] = value
        return self
    }

    /// The entry. What was not set is left to lower layers of the settings, and to defaults.
    open func build() -> DataObject {
        var entry: DataObject = ["barrier_id": .string(id)]
        if kind != id { entry["kind"] = .string(kind) }
        entry["scopes"] = scopes.map { .array($0.map { .string($0.rawValue) }) }
        entry["on_error"] = stateOnError.map { .string($0.rawValue) }
        if !configuration.isEmpty { entry["configuration"] = .object(configuration) }
        return entry
    }
}

/// Writes a batching barrier's entry of the settings (Behaviour B22).
public final class BatchingBarrierSettingsBuilder: BarrierSettingsBuilder {
    /// - Parameter id: the barrier's name, where there is to be more than one.
    public init(id: String = BatchingBarrier.id) {
        super.init(id: id, kind: BatchingBarrier.id)
    }

    /// Sets how many dispatches have to wait for the way to open; less than 1 is 1.
    @discardableResult
    public func setBatchSize(_ batchSize: Int) -> Self {
        set("batch_size", .number(DataNumber(batchSize)))
    }

    /// Sets the age of the oldest dispatch that opens the way all the same, in whole milliseconds, at least one.
    @discardableResult
    public func setMaxWait(_ maxWait: Duration) -> Self {
        set("max_wait_ms", .number(DataNumber(Int(max(1, maxWait.wholeMilliseconds)))))
    }
}

/// Writes a connectivity barrier's entry of the settings (Behaviour B20).
public final class ConnectivityBarrierSettingsBuilder: BarrierSettingsBuilder {
    /// - Parameter id: the barrier's name, where there is to be more than one.
    public init(id: String = ConnectivityBarrier.id) {
        super.init(id: id, kind: ConnectivityBarrier.id)
    }

    /// Sets whether only Wi-Fi and Ethernet will do.
    @discardableResult
    public func setWifiOnly(_ wifiOnly: Bool) -> Self {
        set("wifi_only", .bool(wifiOnly))
    }
}
