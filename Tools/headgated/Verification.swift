import HeadgateServer

/// Carries out `headgated --verify`: prints the contents and the damage of a data directory.
struct Verification {
    let directory: String

    /// Prints the findings.
    /// - Returns: the exit code, 0 if the data directory is undamaged.
    func run() -> Int32 {
        do {
            let report = try DirectoryVerification(directory: directory).run()
            for line in report.lines(directory) { Terminal.print(line) }
            return report.isSound ? 0 : 1
        } catch {
            Terminal.error("headgated: \(error.message)")
            return 1
        }
    }
}
