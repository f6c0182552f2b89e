// A stand-in for ServiceLifecycle, which cannot be fetched here: as much of its API as the service of
// Docs/Guides/Frameworks.md uses.

/// A part of a program that runs until the program is asked to stop.
public protocol Service: Sendable {
    func run() async throws
}

/// The request to stop. The stand-in makes it when `begin` is called; the real one makes it after a signal.
public enum GracefulShutdown {
    private static let request = AsyncStream<Never>.makeStream()

    public static func begin() { request.continuation.finish() }

    fileprivate static func wait() async {
        for await _ in request.stream {}
    }
}

/// Runs the operation, and cancels its task when the program is asked to stop.
public func cancelWhenGracefulShutdown<Value: Sendable>(
    _ operation: @Sendable @escaping () async throws -> Value
) async throws -> Value {
    let running = Task { try await operation() }
    await GracefulShutdown.wait()
    running.cancel()
    return try await running.value
}
