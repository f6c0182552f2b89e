import Foundation

extension Daemon {
    /// The memory that the process has in use, in KiB (proc(5)).
    func residentKilobytes() throws -> Int {
        let status = try String(contentsOfFile: procPath("status"), encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        let number = line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }
        return try number ?? { throw NeverHappened("VmRSS in \(status)") }()
    }

    /// How many descriptors the process has open.
    func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: procPath("fd")).count
    }

    /// Processor time that the process has used, in clock ticks.
    func processorTicks() throws -> Int {
        let text = try String(contentsOfFile: procPath("stat"), encoding: .utf8)
        // The name in parentheses may have spaces; user and system time are the 12th and 13th words behind it.
        let words = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard words.count > 12, let user = Int(words[11]), let system = Int(words[12]) else {
            throw NeverHappened("processor times in \(text)")
        }
        return user + system
    }

    private func procPath(_ name: String) throws -> String {
        guard let process, process.isRunning else { throw NeverHappened("a running daemon", details: log) }
        return "/proc/\(process.processIdentifier)/\(name)"
    }
}
