import Foundation

/// A program of the machine that a test makes use of, with its standard streams alone open and no signal blocked.
///
/// Not `Foundation.Process`: its children inherit the blocked signals of the thread that made them, and where more than
/// a thousand files are open, as beside tests of many connections, it reads behind the end of a directory's entries.
final class MachineProgram: Sendable {
    private let identifier: pid_t

    /// Starts it.
    /// - Parameters:
    ///   - words: its path, and its arguments.
    ///   - input: what it reads from; nothing without one.
    ///   - output: what it writes to; nowhere without one. What it says of faults goes nowhere.
    init(_ words: [String], input: FileHandle? = nil, output: FileHandle? = nil) throws {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        var noSignals = sigset_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (stream, handle) in [input, output, nil].enumerated() {
            let number = Int32(stream)
            if let handle { posix_spawn_file_actions_adddup2(&actions, handle.fileDescriptor, number) }
            if handle == nil { posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0) }
        }
        for other in Int32(3)..<1_024 { posix_spawn_file_actions_addclose(&actions, other) }
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let pointers = words.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        var identifier = pid_t()
        let code = posix_spawn(&identifier, words[0], &actions, &attributes, pointers + [nil], environ)
        guard code == 0 else { throw TestSocket.Failure(operation: "start \(words[0])") }
        self.identifier = identifier
    }

    func waitUntilEnd() {
        while waitpid(identifier, nil, 0) < 0, errno == EINTR {}
    }

    /// Ends it at once.
    func stop() {
        kill(identifier, SIGKILL)
        waitUntilEnd()
    }
}
