import HeadgateCore
import HeadgateData

/// The daemon's log, on its scheduler: each loss has a line, and a burst of the same line is told once with a count
/// (Behaviour O4).
final class Log {
    /// Where lines are written; what is not on the scheduler writes there itself.
    let output: LogOutput
    private let scheduler: any Scheduler
    private var bursts = LogBursts()
    private var alarm: (any Disposable)?

    init(scheduler: any Scheduler, output: LogOutput) {
        self.scheduler = scheduler
        self.output = output
    }

    /// Tells a line, unless it is one of a burst.
    func tell(_ kind: LogKind, _ members: DataObject = [:]) {
        guard output.isRead else { return }
        let line = LogLine(kind, members)
        guard !bursts.take(line, at: scheduler.now) else { return output.write(line) }
        if alarm == nil { arm() }
    }

    /// Tells what waits: the daemon ends.
    func end() {
        alarm?.dispose()
        alarm = nil
        for line in bursts.end() { output.write(line) }
    }

    private func arm() {
        alarm = bursts.nextDeadline.map { due in
            scheduler.schedule(at: due) { [weak self] in self?.timePassed() }
        }
    }

    private func timePassed() {
        for line in bursts.timePassed(to: scheduler.now) { output.write(line) }
        arm()
    }
}
