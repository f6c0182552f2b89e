import Glibc
import HeadgateClient
import HeadgateData
import HeadgateTransport

/// The program `headgate-console` (Protocol, The console; Behaviour O3).
public enum ConsoleProgram {
    /// Runs the program with arguments, without its name. Returns the exit code: 0 for success, 1 for a failure, 2 for
    /// a wrong command line.
    /// - Parameter commit: the commit that the program was built from, for `--version`.
    public static func run(_ arguments: [String], builtFrom commit: String? = nil) -> Int32 {
        ProcessSignals.prepare(holding: followed)
        do throws(ConsoleOptions.UsageFault) {
            switch try ConsoleOptions.parse(arguments) {
            case .help: write(ConsoleOptions.usage, to: STDOUT_FILENO)
            case .version:
                write(Version.line(of: "headgate-console", builtFrom: commit) + "\n", to: STDOUT_FILENO)
            case .run(let options): return serve(options)
            }
            return 0
        } catch {
            write("headgate-console: \(error.message)\n\n\(ConsoleOptions.usage)", to: STDERR_FILENO)
            return 2
        }
    }

    private static func serve(_ options: ConsoleOptions) -> Int32 {
        raiseDescriptorLimit()
        do {
            let loop = try EventLoop()
            let console = try Console(options, on: loop)
            // A slow reader of standard error must not delay the pages.
            let signals = try follow(console, loop)
            ProcessSignals.release()
            reportReady(console)
            withExtendedLifetime(signals) { loop.run() }
            LineOutput.standardError.drain(atMost: timeLimit)
            return 0
        } catch {
            write("headgate-console: \(error)\n", to: STDERR_FILENO)
            return 1
        }
    }

    /// The time to wait for a reader of standard error at the end, in milliseconds.
    private static let timeLimit = 500

    /// The signals that the console handles. They are held back until it does.
    private static let followed = [SIGTERM, SIGINT, SIGHUP]

    private static func follow(_ console: Console, _ loop: EventLoop) throws -> [LoopSignal] {
        let stop = try [SIGTERM, SIGINT].map { signal in
            try LoopSignal(signal, on: loop) {
                console.close()
                loop.stop()
            }
        }
        let reload = try LoopSignal(SIGHUP, on: loop) {
            do throws(TokenFile.Fault) {
                if try console.readTokenAgain() { reportReady(console) }
            } catch {
                log("headgate-console: \(error.message); the old token stays valid")
            }
        }
        return stop + [reload]
    }

    private static func reportReady(_ console: Console) {
        log("headgate-console ready \(console.url)")
        if let metrics = console.metricsURL { log("headgate-console serves \(metrics)") }
    }

    /// Writes a line to standard error, without waiting for a reader.
    private static func log(_ line: String) {
        LineOutput.standardError.write(line) { "headgate-console: \($0) log lines dropped" }
    }

    /// Raises the limit of descriptors to the hard limit, because each open page is a connection.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }
}
