extension EventLoop {
    /// A loop that runs on a new thread of its own until ``stop()``.
    public static func onNewThread(named name: String) throws(TransportError) -> EventLoop {
        let loop = try EventLoop(owner: 0)
        try LoopThread.start(named: name) { loop.run() }
        return loop
    }

    /// Closes a handle whose owner is going away, on whatever thread that is.
    func release(_ handle: Handle?) {
        guard let handle else { return }
        if isCurrent { return handle.close() }
        guard !isClosed else { return }
        // Its owner is gone: from here on only the loop's thread sees it.
        nonisolated(unsafe) let orphan = handle
        submit { orphan.close() }
    }
}
