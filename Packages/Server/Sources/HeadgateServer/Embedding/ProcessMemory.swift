internal import CMemory

/// How a process that is a daemon and nothing else manages its memory.
public enum ProcessMemory {
    /// Has the threads share what is free: what one lets go of the others use. Otherwise what the store's thread reads at a start stays with it,
    /// and the loop takes as much again. To be called before any thread is started.
    /// - Returns: false where the system cannot do that.
    @discardableResult
    public static func share() -> Bool { cmemory_use_one_arena() }
}
