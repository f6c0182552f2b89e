import HeadgateData

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
