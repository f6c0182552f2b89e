import Glibc
import HeadgateServer

/// The command `headgated --check`, which prints the faults of the configuration.
struct Check {
    let options: DaemonOptions
    let environment: [String: String]

    /// Prints the findings.
    /// - Returns: the exit code, 0 if the configuration is valid.
    func run() -> Int32 {
        let findings = ServerConfiguration(options: options, environment: environment, userID: geteuid()).check()
        for line in findings.lines { Terminal.error(line) }
        guard findings.faults.isEmpty else { return 1 }
        Terminal.print("the configuration is valid")
        return 0
    }
}
