import Glibc
import HeadgateTransport

extension LoopSignal {
    /// Listens to the signals that stop a command which runs until it is stopped. Signals that the process was started to
    /// ignore stay ignored, as `nohup` and shells rely on.
    static func ofStops(on loop: EventLoop, _ action: @escaping () -> Void) throws -> [LoopSignal] {
        let followed = [SIGINT, SIGTERM, SIGHUP].filter { !ProcessSignals.isIgnored($0) }
        return try followed.map { try LoopSignal($0, on: loop, action) }
    }
}
