import HeadgateClient
import HeadgateLogging
import Logging

/// A value that logs itself whenever its description is read, which recurses without end.
struct Nested: CustomStringConvertible, Sendable {
    let logger: Logger

    var description: String {
        logger.log(level: .info, "inside", metadata: ["nested": .stringConvertible(self)])
        return "nested"
    }
}

// Logs as each line of the input requests, and answers each line. swift_log.py writes the lines.
let arguments = CommandLine.arguments
var options = HeadgateLog.defaultOptions
options.maxUnanswered = Int(arguments[2]) ?? 10
options.backoffBase = .milliseconds(10)
options.backoffCap = .milliseconds(50)
options.onWarning = nil
let log = try HeadgateLog(program: "shop", version: "2.1", socketPath: arguments[1], options: options)
let provider = Logger.MetadataProvider { ["task": "7", "till": "provider"] }
LoggingSystem.bootstrap { HeadgateLogHandler(label: $0, log: log, metadataProvider: provider) }
var logger = Logger(label: "till")
while let line = readLine() {
    switch line {
    case "record":
        logger[metadataKey: "shop"] = "north"
        logger.log(
            level: .warning, "drawer \(3) is open",
            metadata: ["till": "3", "level": "mine", "items": ["a", ["b": .stringConvertible(2)]]],
            file: "Shop/Till.swift",
            function: "open()", line: 12)
    case "quiet": logger.log(level: .debug, "not tracked")
    case "nested": logger.log(level: .info, "outside", metadata: ["nested": .stringConvertible(Nested(logger: logger))])
    case "close":
        print(await log.close(within: .milliseconds(100)))
        continue
    default: for number in 0..<(Int(line) ?? 0) { logger.log(level: .info, "record \(number)") }
    }
    print(log.dropped.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
}
