import Foundation
import HeadgateClient
import HeadgateData

/// A program that tracks the lines of a file with the Swift client.
///
///     SwiftTracker SOCKET LINES ACKNOWLEDGED PER_SECOND
///
/// The client assigns the IDs of the events. It reconnects after a restart of the daemon, and sends unacknowledged events again.
/// The program writes each acknowledged ID as a line to the file ACKNOWLEDGED.
@main
struct SwiftTracker {
    let client: HeadgateClient
    let acknowledged: FileHandle

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 4, let perSecond = arguments.last.flatMap(Int.init), perSecond > 0 else {
            print("usage: SwiftTracker SOCKET LINES ACKNOWLEDGED PER_SECOND")
            exit(2)
        }
        let (socket, lines, acknowledged) = (arguments[1], arguments[2], arguments[3])
        try Data().write(to: URL(fileURLWithPath: acknowledged))
        let tracker = SwiftTracker(
            client: try HeadgateClient(socketPath: socket, name: "SwiftTracker", version: "1"),
            acknowledged: try FileHandle(forWritingTo: URL(fileURLWithPath: acknowledged)))
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: lines)), as: UTF8.self)
        try await tracker.track(text.split(separator: "\n"), perSecond: perSecond)
        await tracker.client.close()
    }

    /// Tracks the lines in five portions a second. The events of a portion are in flight together.
    private func track(_ lines: [Substring], perSecond: Int) async throws {
        let portion = perSecond / 5 + 1
        for start in stride(from: 0, to: lines.count, by: portion) {
            let events = lines[start..<min(start + portion, lines.count)].map(Self.event)
            for receipt in await client.trackEach(events) {
                try acknowledged.write(contentsOf: Data((receipt.get().id + "\n").utf8))
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Returns the event of a line of the package history: day, time, action and package.
    private static func event(_ line: Substring) -> OutgoingEvent {
        let words = line.split(separator: " ", maxSplits: 3)
        let word = { (index: Int) in index < words.count ? String(words[index]) : "" }
        return OutgoingEvent(
            "package_" + word(2), data: ["at": .string("\(word(0)) \(word(1))"), "details": .string(word(3))])
    }
}
