import HeadgateData

/// A builder of a barrier's entry in the settings (Behaviour S4), for programs that set it.
///
///     let entry = BarrierSettingsBuilder(id: "night", kind: ScheduleBarrier.id)
///         .setScopes([.dispatcher(id: "archive")]).set("start_hour", 22).build()
open class BarrierSettingsBuilder {
    /// The barrier's id.
    public let id: String
    /// The kind of the barrier.
    public let kind: String
    private var scopes: [BarrierScope]?
    private var stateOnError: BarrierState?
    private var configuration: DataObject = [:]

    /// - Parameter kind: the kind; nil if it equals the id.
    public init(id: String, kind: String? = nil) {
        self.id = id
        self.kind = kind ?? id
    }

    /// Sets the scopes of the barrier. An empty array switches the barrier off (Behaviour B4).
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

    /// Sets a member of the barrier's configuration; nil removes it.
    @discardableResult
    public func set(_ key: String, _ value: DataItem?) -> Self {
        configuration[key] = value
        return self
    }

    /// Returns the entry. Members that were not set come from lower layers of the settings, or from defaults.
    open func build() -> DataObject {
        var entry: DataObject = ["barrier_id": .string(id)]
        if kind != id { entry["kind"] = .string(kind) }
        entry["scopes"] = scopes.map { .array($0.map { .string($0.rawValue) }) }
        entry["on_error"] = stateOnError.map { .string($0.rawValue) }
        if !configuration.isEmpty { entry["configuration"] = .object(configuration) }
        return entry
    }
}

/// A builder of the entry of a batching barrier in the settings (Behaviour B22).
public final class BatchingBarrierSettingsBuilder: BarrierSettingsBuilder {
    /// - Parameter id: the barrier's id, if there is more than one.
    public init(id: String = BatchingBarrier.id) {
        super.init(id: id, kind: BatchingBarrier.id)
    }

    /// Sets the number of pending dispatches at which the barrier opens; less than 1 counts as 1.
    @discardableResult
    public func setBatchSize(_ batchSize: Int) -> Self {
        set("batch_size", .number(DataNumber(batchSize)))
    }

    /// Sets the age of the oldest pending dispatch at which the barrier opens in any case, in whole milliseconds, at
    /// least one.
    @discardableResult
    public func setMaxWait(_ maxWait: Duration) -> Self {
        set("max_wait_ms", .number(DataNumber(Int(max(1, maxWait.wholeMilliseconds)))))
    }
}

/// A builder of the entry of a connectivity barrier in the settings (Behaviour B20).
public final class ConnectivityBarrierSettingsBuilder: BarrierSettingsBuilder {
    /// - Parameter id: the barrier's id, if there is more than one.
    public init(id: String = ConnectivityBarrier.id) {
        super.init(id: id, kind: ConnectivityBarrier.id)
    }

    /// Sets whether the barrier opens on Wi-Fi and Ethernet only.
    @discardableResult
    public func setWifiOnly(_ wifiOnly: Bool) -> Self {
        set("wifi_only", .bool(wifiOnly))
    }
}
