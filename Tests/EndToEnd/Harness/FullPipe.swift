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

    /// Starts a built program with the pipe as its standard error. The program must set its signal mask itself.
    func start(_ product: String, _ arguments: [String]) throws -> Process {
        let program = Process()
        program.executableURL = URL(filePath: try BuiltProducts.path(of: product))
        program.arguments = arguments
        // The program holds the pipe, so that the reading end stays open.
        program.standardError = pipe
        try program.run()
        return program
    }
}
