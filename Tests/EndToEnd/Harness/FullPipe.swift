import Foundation

/// A pipe that is full and that nobody reads, as standard error of a program whose supervisor stalls.
struct FullPipe {
    private let pipe = Pipe()

    init() throws {
        let writer = pipe.fileHandleForWriting.fileDescriptor
        _ = try SystemError.check(fcntl(writer, F_SETFL, O_NONBLOCK), "fcntl")
        while write(writer, [UInt8](repeating: 0x2E, count: 4_096), 4_096) > 0 {}
        _ = try SystemError.check(fcntl(writer, F_SETFL, 0), "fcntl")
    }

    /// Starts a program of the build with the pipe as its standard error. It has to set its signal mask itself.
    func start(_ product: String, _ arguments: [String]) throws -> Process {
        let program = Process()
        program.executableURL = URL(filePath: try BuiltProducts.path(of: product))
        program.arguments = arguments
        // The program keeps the pipe, so that its other end stays open.
        program.standardError = pipe
        try program.run()
        return program
    }
}
