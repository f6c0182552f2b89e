import HeadgateServer

/// `headgated --verify`: tells what a data directory holds.
struct Verification {
    let directory: String

    /// The exit code: 0 if all of it is sound.
    func run() -> Int32 {
        do {
            let (lines, isSound) = try StoreVerification(directory: directory).run()
            for line in lines { Terminal.print(line) }
            return isSound ? 0 : 1
        } catch {
            Terminal.error("headgated: \(error.message)")
            return 1
        }
    }
}
