import Foundation
import Testing

/// A growing file, and the process that follows the file.
final class Trail {
    let path: String
    private let daemon: Daemon
    private let collector: Collector
    private var runs = 0
    private(set) var follower: ChildProcess?

    init(_ scene: Scene, _ daemon: Daemon, _ collector: Collector) {
        path = scene.directory.path("trail.ndjson")
        (self.daemon, self.collector) = (daemon, collector)
    }

    private var stateDirectory: String { path + ".states" }

    /// The default path of the state file, in a directory that the follower creates.
    var defaultState: String {
        stateDirectory + "/" + path.dropFirst().replacingOccurrences(of: "/", with: "%2F")
    }

    /// The path of the state file, or nil for the default.
    var state: String?

    /// The options that are given at each start.
    var options: [String] = []

    func follow(_ options: [String] = []) throws {
        runs += 1
        let index = state.map { ["--state", $0] } ?? []
        let arguments = ["send", "--follow", path, "--socket", daemon.socketPath] + index + self.options + options
        let output = path + ".run\(runs)"
        follower = try ChildProcess(
            BuiltProducts.path(of: "headgate"), arguments, environment: ["STATE_DIRECTORY": stateDirectory],
            outputPath: output, errorPath: output)
    }

    /// Appends the first lines, starts the follower, and waits until the lines are stored.
    func follow(from first: ClosedRange<Int>) async throws {
        try append(first)
        try follow()
        try await expect(first)
    }

    /// Writes keys for `--key-file`, each with a number, and returns the path.
    func keys(_ numbers: Int...) throws -> String {
        let lines = numbers.map { "\($0) " + String(repeating: "\($0)f", count: 32) + "\n" }
        let keys = path + ".keys"
        try lines.joined().write(toFile: keys, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keys)
        return keys
    }

    /// Returns the names of the files beside the position that contain a text.
    func files(with text: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: stateDirectory).filter { name in
            let content = FileManager.default.contents(atPath: stateDirectory + "/" + name) ?? Data()
            return content.range(of: Data(text.utf8)) != nil
        }
    }

    func stop(_ signal: Int32) async throws -> Int32? {
        follower?.signal(signal)
        return try await follower?.exitCode()
    }

    func append(_ text: String) throws {
        let descriptor = try SystemError.check(open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600), "open")
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(text.utf8))
    }

    func append(_ numbers: ClosedRange<Int>) throws {
        try append(numbers.map { #"{"event":"line","data":{"n":\#($0)}}"# + "\n" }.joined())
    }

    /// Checks that exactly these lines are stored, in order.
    func expect(_ numbers: ClosedRange<Int>, at location: SourceLocation = #_sourceLocation) async throws {
        #expect(try await stored(atLeast: numbers.count) == Array(numbers), sourceLocation: location)
    }

    /// Checks that exactly these lines are stored, in any order.
    func expectAll(_ numbers: ClosedRange<Int>, at location: SourceLocation = #_sourceLocation) async throws {
        #expect(try await stored(atLeast: numbers.count).sorted() == Array(numbers), sourceLocation: location)
    }

    /// Waits for stored lines and returns their numbers, in order of their sequence numbers. A line stored twice is
    /// returned twice.
    func stored(atLeast count: Int) async throws -> [Int] {
        try await eventually("\(count) lines") {
            var numbers: [Int: Int] = [:]
            for event in collector.accepted.flatMap(\.events) {
                numbers[event["seq"].int ?? 0] = event["data"]["n"].int ?? 0
            }
            return numbers.count >= count ? numbers.sorted { $0.key < $1.key }.map(\.value) : nil
        }
    }

    func rename(to suffix: String, from old: String = "") throws {
        try FileManager.default.moveItem(atPath: path + old, toPath: path + suffix)
    }

    /// Returns the number of error lines that contain a text.
    func problems(_ text: String) -> Int {
        (follower?.errorOutput ?? "").split(separator: "\n").count { $0.contains(text) }
    }

    func makePipe() throws {
        _ = try SystemError.check(mkfifo(path, 0o600), "mkfifo")
    }

    /// Starts a process that opens the pipe again for each line.
    func writer(_ line: String, count: Int = 1, from start: Int = 0, _ scene: Scene) throws -> ChildProcess {
        let count =
            "n=\(start); while [ $n -lt \(start + count) ]; do printf '%s\\n' \(line) >\(path); n=$((n + 1)); done"
        let output = path + ".writer"
        return scene.keep(try ChildProcess("/bin/sh", ["-c", count], outputPath: output, errorPath: output))
    }

    func writer(_ numbers: ClosedRange<Int>, padding: String = "", _ scene: Scene) throws -> ChildProcess {
        let line = #"'{"event":"line","data":{"n":'$n',"x":"\#(padding)"}}'"#
        return try writer(line, count: numbers.count, from: numbers.lowerBound, scene)
    }

    var plainSpool: String { defaultState + "-lines" }
    var encryptedSpool: String { defaultState + "-lines.encrypted" }
    /// The spool that the options choose.
    var spool: String { options.contains("--key-file") ? encryptedSpool : plainSpool }

    /// The length of the spool file, or -1 if there is none.
    var spoolLength: Int {
        var status = stat()
        return stat(spool, &status) == 0 ? Int(status.st_size) : -1
    }
}

/// Runs a test with a daemon, and a file that is not written yet.
func withTrail(_ body: (Trail, Daemon, Scene) async throws -> Void) async throws {
    try await withScene { scene in
        let collector = try scene.collector()
        let daemon = try await scene.daemon(sendingTo: collector)
        let trail = scene.keep(Trail(scene, daemon, collector))
        try await body(trail, daemon, scene)
        trail.follower?.discard()
    }
}
