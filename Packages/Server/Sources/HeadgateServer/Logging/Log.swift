import HeadgateCore
import HeadgateData

/// The daemon's log, on its scheduler. Each loss gets a line, and a burst of equal lines becomes one line with a count
/// (Behaviour O4).
final class Log {
    /// The output of the lines. Code that is not on the scheduler writes to it directly.
    let output: LogOutput
    private let scheduler: any Scheduler
    private var bursts = LogBursts()
    private var timer: (any Disposable)?

    init(scheduler: any Scheduler, output: LogOutput) {
        self.scheduler = scheduler
        self.output = output
    }

    /// Logs a line, unless a burst of equal lines holds it back.
    func write(_ kind: LogKind, _ members: DataObject = [:]) {
        guard output.isRead else { return }
        let line = LogLine(kind, members)
        guard !bursts.take(line, at: scheduler.now) else { return output.write(line) }
        if timer == nil { arm() }
    }

    /// Logs the lines that are held back, because the daemon ends.
    func end() {
        timer?.dispose()
        timer = nil
        for line in bursts.end() { output.write(line) }
    }

    private func arm() {
        timer = bursts.nextDeadline.map { due in
            scheduler.schedule(at: due) { [weak self] in self?.timePassed() }
        }
    }

    private func timePassed() {
        for line in bursts.timePassed(to: scheduler.now) { output.write(line) }
        arm()
    }
}
