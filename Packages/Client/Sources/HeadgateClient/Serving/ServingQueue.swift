import HeadgateWire

/// What the daemon asks a task to do, on its way from the connection to that task.
struct ServingQueue<Job: Sendable>: Sendable {
    /// A thing to do, and the request that is to be answered for it.
    // Unchecked: the request is touched on the client's actor only.
    struct Ticket: @unchecked Sendable {
        let job: Job
        let request: DaemonRequest
    }

    /// What there is to do; ends when nothing more comes.
    let tickets: AsyncThrowingStream<Ticket, any Error>
    private let tell: AsyncThrowingStream<Ticket, any Error>.Continuation

    init() {
        (tickets, tell) = AsyncThrowingStream.makeStream()
    }

    /// Passes on a thing to do; a task that has gone meanwhile gives it back.
    func put(_ job: Job, _ request: DaemonRequest) {
        guard case .terminated = tell.yield(Ticket(job: job, request: request)) else { return }
        request.giveBack("this side is ending")
    }

    func finish(_ error: any Error) {
        tell.finish(throwing: error)
    }
}
