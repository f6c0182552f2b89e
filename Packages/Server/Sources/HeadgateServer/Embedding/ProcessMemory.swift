internal import CMemory

/// Settings of the C library's memory allocator for a process that is only a daemon.
public enum ProcessMemory {
    /// The size, in bytes, from which an allocation is mapped from the system and returned to the system when it is
    /// freed.
    private static let leastMapped: Int32 = 1 << 20

    /// Keeps the process's memory near what it uses.
    ///
    /// All threads share one arena, so that memory that one thread frees serves the others. Otherwise the memory that
    /// the store's thread uses at the start would stay with that thread. Large allocations are mapped apart, so that
    /// they leave no holes in the heap. Call this before any thread starts.
    /// - Returns: false if the C library does not support it.
    @discardableResult
    public static func economize() -> Bool { cmemory_use_one_arena() && cmemory_map_from(leastMapped) }
}
