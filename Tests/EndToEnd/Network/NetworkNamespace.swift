import Foundation
import Synchronization
import Testing

/// A network of its own within this machine, as `ip netns` makes them: nothing is in it at first but a loopback interface
/// that is down (ip-netns(8)). Making one takes root.
final class NetworkNamespace: Sendable {
    let name: String

    private static let made = Mutex(0)

    /// Names a namespace that nobody else uses; `make()` makes it.
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

    /// Takes it away, if it is there. Processes and sockets inside keep what they have until they end.
    func remove() async {
        _ = try? await IPCommand.run(["netns", "delete", name])
    }

    /// Runs `ip` inside, with a command line such as `link set wan0 up`.
    @discardableResult
    func ip(_ line: String) async throws -> String {
        try await IPCommand.run(["-n", name] + line.split(separator: " ").map(String.init))
    }

    /// Runs many commands by one process: its lines are `ip` commands without the `ip`.
    func batch(_ lines: [String]) async throws {
        try await IPCommand.run(["-n", name, "-batch", "-"], input: lines.joined(separator: "\n"))
    }

    /// The command that runs another inside.
    var launcher: [String] {
        [IPCommand.path, "netns", "exec", name]
    }

    /// Runs `body` on a thread that is inside: a socket that it makes belongs there for good.
    func inside<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Result<Value, any Error>?>(nil)
        Thread.detachNewThread { [self] in
            // The thread ends with it, so there is no way back to care for.
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

    // Glibc has it, but Swift's module of Glibc does not.
    private static let setns = unsafeBitCast(dlsym(nil, "setns"), to: (@convention(c) (Int32, Int32) -> Int32).self)
    /// `CLONE_NEWNET`.
    private static let newNet: Int32 = 0x4000_0000
}

/// The command `ip` of iproute2.
enum IPCommand {
    static let path = "/bin/ip"

    /// Whether network namespaces can be made here.
    static func makesNamespaces() async -> Bool {
        guard geteuid() == 0, access(path, X_OK) == 0 else { return false }
        let namespace = NetworkNamespace()
        guard (try? await namespace.make()) != nil else { return false }
        await namespace.remove()
        return true
    }

    /// Runs it with these arguments, and gives back what it wrote.
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
    /// Skips where no network namespaces can be made.
    static var inNamespaces: Self {
        enabled("network namespaces take root and the command `ip` of iproute2") {
            await IPCommand.makesNamespaces()
        }
    }
}
