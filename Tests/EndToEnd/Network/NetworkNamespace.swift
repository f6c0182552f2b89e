import Foundation
import Synchronization
import Testing

/// A network namespace as created by `ip netns`. At first it contains only a loopback interface that is down
/// (ip-netns(8)). Creating one requires root.
final class NetworkNamespace: Sendable {
    let name: String

    private static let made = Mutex(0)

    /// Chooses a name that no other namespace has. `make()` creates the namespace.
    init() {
        let number = Self.made.withLock { made in
            made += 1
            return made
        }
        name = "headgate-\(getpid())-\(number)"
    }

    func make() async throws {
        try await IPCommand.run(["netns", "add", name])
    }

    /// Deletes the namespace if it exists. Processes and sockets inside keep their network until they end.
    func remove() async {
        _ = try? await IPCommand.run(["netns", "delete", name])
    }

    /// Runs `ip` in the namespace, with a command line such as `link set wan0 up`.
    @discardableResult
    func ip(_ line: String) async throws -> String {
        try await IPCommand.run(["-n", name] + line.split(separator: " ").map(String.init))
    }

    /// Runs many `ip` commands in one process. Each line is a command without `ip`.
    func batch(_ lines: [String]) async throws {
        try await IPCommand.run(["-n", name, "-batch", "-"], input: lines.joined(separator: "\n"))
    }

    /// The command that runs another command in the namespace.
    var launcher: [String] {
        [IPCommand.path, "netns", "exec", name]
    }

    /// Runs `body` on a thread in the namespace. A socket created there stays in the namespace.
    func inside<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Result<Value, any Error>?>(nil)
        Thread.detachNewThread { [self] in
            // The thread ends with the call, so it need not leave the namespace.
            let outcome = Result { () throws -> Value in
                try enter()
                return try body()
            }
            result.withLock { $0 = outcome }
            done.signal()
        }
        done.wait()
        return try result.withLock { try $0!.get() }  // The thread has set it.
    }

    private func enter() throws {
        let descriptor = try SystemError.check(open("/run/netns/\(name)", O_RDONLY | O_CLOEXEC), "open \(name)")
        defer { close(descriptor) }
        _ = try SystemError.check(Self.setns(descriptor, Self.newNet), "setns \(name)")
    }

    // Glibc has the function, but Swift's Glibc module does not.
    private static let setns = unsafeBitCast(dlsym(nil, "setns"), to: (@convention(c) (Int32, Int32) -> Int32).self)
    /// The value of `CLONE_NEWNET`.
    private static let newNet: Int32 = 0x4000_0000
}

/// The command `ip` of iproute2.
enum IPCommand {
    static let path = "/bin/ip"

    /// Returns true if network namespaces can be created here.
    static func makesNamespaces() async -> Bool {
        guard geteuid() == 0, access(path, X_OK) == 0 else { return false }
        let namespace = NetworkNamespace()
        guard (try? await namespace.make()) != nil else { return false }
        await namespace.remove()
        return true
    }

    /// Runs the command and returns its output.
    @discardableResult
    static func run(_ arguments: [String], input: String? = nil) async throws -> String {
        let folder = try TemporaryDirectory()
        defer { folder.remove() }
        let process = try ChildProcess(
            path, arguments, input: input, outputPath: folder.path("output"), errorPath: folder.path("errors"))
        let code = try await process.exitCode()
        guard code == 0 else {
            throw NeverHappened("ip \(arguments.joined(separator: " "))", details: process.errorOutput)
        }
        return process.output
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips tests where network namespaces cannot be created.
    static var inNamespaces: Self {
        enabled("network namespaces take root and the command `ip` of iproute2") {
            await IPCommand.makesNamespaces()
        }
    }
}
