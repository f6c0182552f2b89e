import Glibc
import HeadgateServer

/// `headgated --check`: says what is wrong with the configuration.
struct Check {
    let options: DaemonOptions
    let environment: [String: String]

    /// The exit code: 0 if the configuration can be used.
    func run() -> Int32 {
        let findings = ServerConfiguration(options: options, environment: environment, userID: geteuid()).check()
        for line in findings.lines { Terminal.error(line) }
        guard findings.faults.isEmpty else { return 1 }
        Terminal.print("the configuration is valid")
        return 0
    }
}
