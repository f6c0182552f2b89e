import Foundation

/// How a child process begins: its three descriptors, one more if it inherits one, default signals, none of them blocked.
///
/// Not `Foundation.Process`: a child of that inherits the signal mask of the thread that made it, and those that tests run on
/// block nearly all signals.
final class SpawnSettings {
    private var actions = posix_spawn_file_actions_t()
    private var attributes = posix_spawnattr_t()

    /// - Parameter inherited: what the child has as descriptor 3.
    init(input: String, output: String, error: String, inherited: Int32? = nil) throws {
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        let append = O_WRONLY | O_CREAT | O_APPEND
        try check(posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0), "open \(input)")
        try check(posix_spawn_file_actions_addopen(&actions, 1, output, append, 0o600), "open \(output)")
        try check(posix_spawn_file_actions_addopen(&actions, 2, error, append, 0o600), "open \(error)")
        // The harness's own are closed on exec; other tests of this process may have some that are not.
        if let inherited { try check(posix_spawn_file_actions_adddup2(&actions, inherited, 3), "hand over") }
        for other in Int32(inherited == nil ? 3 : 4)..<1_024 { posix_spawn_file_actions_addclose(&actions, other) }
        try setSignals()
    }

    deinit {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
    }

    /// Starts the program and gives back its process identifier.
    func spawn(_ executable: String, _ arguments: [String], _ environment: [String]) throws -> pid_t {
        let words = arguments.map { strdup($0) }
        let variables = environment.map { strdup($0) }
        defer { for text in words + variables { free(text) } }
        var process = pid_t()
        let code = posix_spawn(&process, executable, &actions, &attributes, words + [nil], variables + [nil])
        try check(code, "start \(executable)")
        return process
    }

    private func setSignals() throws {
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        try check(posix_spawnattr_setsigmask(&attributes, &none), "setsigmask")
        try check(posix_spawnattr_setsigdefault(&attributes, &all), "setsigdefault")
        let flags = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
        try check(posix_spawnattr_setflags(&attributes, flags), "setflags")
    }

    private func check(_ code: Int32, _ call: String) throws {
        guard code == 0 else { throw SystemError(call, code: code) }
    }
}
