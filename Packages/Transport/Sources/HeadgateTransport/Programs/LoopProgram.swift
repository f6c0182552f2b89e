import CUV
import Glibc

/// A program that this process has started. Its end is reported on the loop, and it leaves no zombie as long as the
/// loop runs.
///
/// The program has its own session, so that signals from the terminal do not reach it. It inherits standard error, and
/// standard output unless another output is given. It inherits no other descriptor. It gets `SIGTERM` when the thread
/// that started it ends, even if this process is killed.
public final class LoopProgram {
    /// The way in which a program ended.
    public enum End: Equatable, Sendable {
        /// It exited with this code.
        case exited(Int32)
        /// It was killed by this signal.
        case killed(signal: Int32)
    }

    private let process: pid_t
    private let whenEnded: (End) -> Void
    /// The watch for the ends of this process's children (SIGCHLD); nil once this program has ended.
    private var children: LoopSignal?

    /// Starts a program.
    /// - Parameters:
    ///   - command: the program and its arguments. A program without a slash is looked up in `$PATH`.
    ///   - variables: variables to add to this process's environment.
    ///   - input: the standard input of the program.
    ///   - output: the standard output of the program. The default is this process's own.
    ///   - loop: the loop on which the end is reported.
    ///   - whenEnded: called once, when the program has ended.
    /// - Throws: ``TransportError/system(operation:code:path:)`` if the program cannot be started.
    public init(
        _ command: [String], adding variables: [String: String] = [:], input: borrowing MemoryFile,
        output: Int32 = STDOUT_FILENO, on loop: EventLoop, whenEnded: @escaping (End) -> Void
    ) throws(TransportError) {
        loop.preconditionCurrent()
        self.whenEnded = whenEnded
        let watch = Watch()
        // Listen before the program starts, because a short program may end at once.
        children = try LoopSignal(SIGCHLD, on: loop) { watch.program?.childEnded() }
        process = try LoopProgram.spawn(command, variables, input: input.descriptor.number, output)
        watch.program = self
    }

    /// An object that retains the program until it has ended.
    private final class Watch {
        var program: LoopProgram?
    }

    /// Sends a signal to the program and its process group. Does nothing once the program has ended.
    public func signal(_ number: Int32) {
        guard children != nil else { return }
        kill(-process, number)
    }

    private func childEnded() {
        var status: Int32 = 0
        guard children != nil, waitpid(process, &status, WNOHANG) == process else { return }
        children = nil
        let signal = status & 0x7F
        whenEnded(signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal))
    }

    private static func spawn(
        _ command: [String], _ variables: [String: String], input: Int32, _ output: Int32
    ) throws(TransportError) -> pid_t {
        var words = CStrings(command)
        var environment = CStrings(LoopProgram.environment(adding: variables))
        defer {
            words.free()
            environment.free()
        }
        let process = words.withPointers { words in
            environment.withPointers { cuv_spawn(words, $0, input, output, SIGTERM) }
        }
        guard process > 0 else { throw .system(operation: "cannot start", code: process, path: command.first) }
        return process
    }

    private static func environment(adding variables: [String: String]) -> [String] {
        var own: [String] = []
        var entry = environ
        while let variable = entry.pointee {
            own.append(String(cString: variable))
            entry += 1
        }
        let kept = own.filter { variable in !variables.keys.contains { variable.hasPrefix("\($0)=") } }
        return kept + variables.map { "\($0)=\($1)" }
    }
}

/// An array of C strings that ends with a null pointer.
private struct CStrings {
    private var pointers: [UnsafeMutablePointer<CChar>?]

    init(_ strings: [String]) {
        pointers = strings.map { strdup($0) } + [nil]
    }

    mutating func withPointers<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        // The force-unwrap is safe: the array is never empty.
        pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
    }

    func free() {
        for pointer in pointers { Glibc.free(pointer) }
    }
}

/// A file in memory, as the standard input of a program. Neither process waits for the other, however large the file
/// is. A program that does not read the file has no effect on this process.
public struct MemoryFile: ~Copyable {
    fileprivate let descriptor: Descriptor

    /// Creates a file with these bytes, positioned at its beginning.
    public init(_ bytes: [UInt8]) throws(TransportError) {
        descriptor = try Self.file(of: bytes)
    }

    private static func file(of bytes: [UInt8]) throws(TransportError) -> Descriptor {
        let number = cuv_memory_file("headgate-input")
        guard number >= 0 else { throw .last("memfd_create") }
        let file = Descriptor(number)
        try write(bytes, to: number)
        guard lseek(number, 0, SEEK_SET) == 0 else { throw .last("lseek") }
        return file
    }

    private static func write(_ bytes: [UInt8], to file: Int32) throws(TransportError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return Glibc.write(file, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .last("write") }
            written += count
        }
    }
}
