/// A scan of the events of a store, in their order and in several steps, so that other jobs need not wait long for it.
public protocol StoreScan {
    /// All events up to this one have been scanned.
    var position: SequenceNumber { get }
    /// True if the scan is complete.
    var isOver: Bool { get }
}

extension StoreScan {
    /// Returns the scan after a step.
    /// - Parameters:
    ///   - size: the bytes after which the step ends.
    ///   - read: reads some events after a sequence number.
    ///   - take: scans events; nil if there are none.
    public func continued(
        over size: Int = 1 << 20, _ read: (SequenceNumber) -> Result<Chunk?, StoreFault>,
        _ take: (inout Self, Chunk?) -> Void
    ) -> Result<Self, StoreFault> {
        var (scan, bytes) = (self, 0)
        while !scan.isOver, bytes < size {
            switch read(scan.position) {
            case .success(let chunk):
                take(&scan, chunk)
                bytes += chunk?.bytes.count ?? 0
            case .failure(let fault): return .failure(fault)
            }
        }
        return .success(scan)
    }
}
