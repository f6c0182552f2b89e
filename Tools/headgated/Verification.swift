import Glibc
import HeadgateServer

/// The command `headgated --verify`, which prints the contents and the damage of a data directory.
struct Verification {
    let directory: String
    /// The options. Their configuration names the keys of an encrypted store.
    let options: DaemonOptions
    let environment: [String: String]

    /// Prints the findings.
    /// - Returns: the exit code, 0 if the data directory is undamaged.
    func run() -> Int32 {
        let configuration = ServerConfiguration(options: options, environment: environment, userID: geteuid())
        let verification: DirectoryVerification
        do throws(StartFault) { verification = try configuration.verification(of: directory) } catch {
            Terminal.error("headgated: \(error)")
            return 1
        }
        do {
            let report = try verification.run()
            for line in report.lines(directory) { Terminal.print(line) }
            return report.isSound ? 0 : 1
        } catch {
            Terminal.error("headgated: \(error.message)")
            return 1
        }
    }
}
