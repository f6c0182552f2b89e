import Foundation

/// A full pipe without a reader, as the standard error of a program whose supervisor stalls.
struct FullPipe {
    private let pipe = Pipe()

    init() throws {
        let writer = pipe.fileHandleForWriting.fileDescriptor
        _ = try SystemError.check(fcntl(writer, F_SETFL, O_NONBLOCK), "fcntl")
        while write(writer, [UInt8](repeating: 0x2E, count: 4_096), 4_096) > 0 {}
        _ = try SystemError.check(fcntl(writer, F_SETFL, 0), "fcntl")
    }

    /// Runs `body` while a built program runs whose standard error is the pipe. The program must set its signal mask itself,
    /// and end after SIGTERM.
    func run(_ product: String, _ arguments: [String], _ body: () async throws -> Void) async throws {
        let program = Process()
        program.executableURL = URL(filePath: try BuiltProducts.path(of: product))
        program.arguments = arguments
        // The program holds the pipe, so that the reading end stays open.
        program.standardError = pipe
        program.standardOutput = FileHandle.nullDevice
        try program.run()
        defer { if program.isRunning { kill(program.processIdentifier, SIGKILL) } }
        try await body()
        program.terminate()
        try await eventually("the end of \(product)") { !program.isRunning }
    }
}
