internal import CMemory

/// Settings of the C library's memory allocator for a process that is only a daemon.
public enum ProcessMemory {
    /// The size, in bytes, from which an allocation is mapped from the system and returned to the system when it is
    /// freed.
    private static let leastMapped: Int32 = 1 << 20

    /// The number of arenas. With a single one the threads of librdkafka and libnats, which allocate and free several
    /// times for each message, wait for the loop and for each other.
    private static let arenas: Int32 = 2

    /// Configures the allocator so that the process returns unused memory to the system.
    ///
    /// The threads share few arenas, so that memory that one thread frees serves others. Otherwise the memory that the
    /// store's thread uses at the start would stay with that thread. Large allocations are mapped apart, so that they
    /// leave no holes in the heap. Call this before any thread starts.
    /// - Returns: false if the C library does not support it.
    @discardableResult
    public static func economize() -> Bool { cmemory_share_arenas(arenas) && cmemory_map_from(leastMapped) }
}
