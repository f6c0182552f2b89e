internal import CMemory

/// How a process that is a daemon and nothing else manages its memory.
public enum ProcessMemory {
    /// Bytes: pieces of so many and more come straight from the system, and go back there. Most of what a turn takes is smaller.
    private static let leastMapped: Int32 = 1 << 20

    /// Keeps what the process holds near what it needs. The threads share what is free: what one lets go of the others use. Otherwise
    /// what the store's thread reads at a start stays with it, and the loop takes as much again. And large pieces leave no holes.
    /// To be called before any thread is started.
    /// - Returns: false where the system cannot do that.
    @discardableResult
    public static func economize() -> Bool { cmemory_use_one_arena() && cmemory_map_from(leastMapped) }
}
