import CUV

extension EventLoop {
    /// Runs `work` on the loop, in the order in which it was submitted. From any thread.
    ///
    /// Work never vanishes, or tasks that still call the loop's actor would hang: what comes after the loop has closed
    /// is run on a thread of its own, one piece at a time. Sockets and timers cannot be opened there any more.
    public func submit(_ work: @escaping @Sendable () -> Void) {
        push(.closure(work))
    }

    func push(_ work: Inbox.Work) {
        let mustStartThread = inbox.withLock { inbox -> Bool in
            let duty = inbox.push(work)
            // Inside the lock: outside, the loop could be closed between the push and the wake.
            if duty == .wakeLoop { uv_async_send(wakeUp) }
            return duty == .startLateThread
        }
        if mustStartThread { startLateThread() }
    }

    /// Runs a turn's share of what was submitted; the sockets get their turn before the rest.
    func drain() {
        for _ in 0..<Self.worksPerTurn {
            guard let work = nextWork() else { return }
            run(work)
        }
        uv_async_send(wakeUp)
    }

    /// Runs all that was submitted.
    func drainAll() {
        while let work = nextWork() { run(work) }
    }

    private func nextWork() -> Inbox.Work? {
        if takenRun == taken.count {
            // After a burst the memory goes back.
            taken.removeAll(keepingCapacity: taken.count <= Self.keptRoom)
            takenRun = 0
            inbox.withLock { $0.take(into: &taken) }
        }
        guard takenRun < taken.count else { return nil }
        defer { takenRun += 1 }
        return taken[takenRun]
    }

    private func run(_ work: Inbox.Work) {
        switch work {
        case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
        case .closure(let closure): closure()
        }
    }

    private func startLateThread() {
        do throws(TransportError) {
            try LoopThread.start(named: "headgate-late") { self.serveLate() }
        } catch {
            // No thread to be had. The calling one serves: still one piece of work at a time.
            serveLate()
        }
    }

    private func serveLate() {
        repeat {
            setCurrent(true)
            drainAll()
            turnEnd.run()
            setCurrent(false)
        } while !inbox.withLock { $0.endLateService() }
    }

    private static var worksPerTurn: Int { 1024 }
    private static var keptRoom: Int { 4096 }
}
