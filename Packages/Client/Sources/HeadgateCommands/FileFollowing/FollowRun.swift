import Glibc
import HeadgateClient
import HeadgateTransport

/// One run of `headgate send --follow`: a follower for each file, also for files that come to match a pattern later.
///
/// A fault of one file ends the following of that file alone. The run ends with the first fault if it has one file, and
/// when no file is left.
final class FollowRun {
    private let names: FollowNames
    private let format: LineFormat
    private let invocation: Invocation
    private let storage: FollowStorage
    private let loop: EventLoop
    private var followers: [String: Follower] = [:]
    /// The files that were followed until a fault. They are not followed again.
    private var failed: Set<String> = []
    /// The timer that checks for new files.
    private var timer: LoopTimer?
    private var signals: [LoopSignal] = []
    private var isStopping = false
    private var fault: (any Error)?

    /// The time between two checks for new files.
    private static let interval = Duration.seconds(1)

    /// - Parameters:
    ///   - names: paths and patterns.
    ///   - storage: where the positions are stored, and with which keys.
    init(_ names: [String], _ format: LineFormat, _ storage: FollowStorage, _ invocation: Invocation) throws {
        (self.names, self.format, self.storage, self.invocation) = (FollowNames(names), format, storage, invocation)
        loop = try EventLoop()
    }

    func run() throws -> ExitCode {
        timer = LoopTimer(on: loop) { [self] in findFiles() }
        signals = try LoopSignal.ofStops(on: loop) { [self] in stop() }
        for path in names.paths { try follow(path) }
        findFiles()
        loop.run()
        (timer, signals, followers) = (nil, [], [:])
        if let fault { throw fault }
        return failed.isEmpty ? .success : .failure
    }

    private func follow(_ path: String) throws {
        guard followers[path] == nil, !failed.contains(path), !isStopping else { return }
        let follower = try Follower(path, format, storage, on: loop, invocation) { [self] in ended(path, $0) }
        followers[path] = follower
        follower.start()
    }

    private func findFiles() {
        guard !isStopping, !names.patterns.isEmpty else { return }
        timer?.arm(after: Self.interval)
        let followed = Set(followers.values.compactMap(\.followedFile))
        for path in names.newFiles(besides: Set(followers.keys), followed) {
            do {
                try follow(path)
            } catch {
                ended(path, error)
            }
        }
    }

    private func ended(_ path: String, _ fault: (any Error)?) {
        followers[path] = nil
        if let fault { note(fault, of: path) }
        if followers.isEmpty, isStopping || names.patterns.isEmpty { loop.stop() }
    }

    private func note(_ fault: any Error, of path: String) {
        // Without a daemon no file can be followed.
        if names.isSingle || (fault as? ClientError)?.isUnreachable == true {
            self.fault = self.fault ?? fault
            return stop()
        }
        failed.insert(path)
        invocation.terminal.printError("\(path) is no longer followed: \(fault)")
    }

    private func stop() {
        isStopping = true
        timer?.cancel()
        if followers.isEmpty { loop.stop() }
        for follower in followers.values { follower.stop() }
    }
}

extension ClientError {
    fileprivate var isUnreachable: Bool { if case .cannotConnect = self { true } else { false } }
}
