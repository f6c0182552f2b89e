import CUV
import Glibc

/// A program that this process has started, and whose end its loop reports. It leaves no zombie as long as the loop runs.
///
/// The program has a session of its own, so that a signal from the terminal does not reach it. It inherits standard output
/// and standard error of this process and no other descriptor. It gets `SIGTERM` when the thread that started it ends, also
/// when this process is killed.
public final class LoopProgram {
    /// How a program ended.
    public enum End: Equatable, Sendable {
        /// By itself, with this code.
        case exited(Int32)
        /// By this signal.
        case killed(signal: Int32)
    }

    private let process: pid_t
    private let whenEnded: (End) -> Void
    /// Reports that some child of this process has ended. Nil once this one has.
    private var children: LoopSignal?

    /// Starts a program.
    /// - Parameters:
    ///   - command: the program, looked for in `$PATH` if there is no slash in it, and its arguments.
    ///   - variables: added to this process's environment.
    ///   - input: what it reads from standard input.
    ///   - whenEnded: called once, when it has ended.
    /// - Throws: ``TransportError/system(operation:code:path:)`` where it cannot be started.
    public init(
        _ command: [String], adding variables: [String: String] = [:], input: borrowing MemoryFile, on loop: EventLoop,
        whenEnded: @escaping (End) -> Void
    ) throws(TransportError) {
        loop.preconditionCurrent()
        self.whenEnded = whenEnded
        let watch = Watch()
        // It listens before the program starts: a short one may end at once.
        children = try LoopSignal(SIGCHLD, on: loop) { watch.program?.childEnded() }
        process = try LoopProgram.spawn(command, variables, input: input.descriptor.number)
        watch.program = self
    }

    /// Keeps the program until it has ended.
    private final class Watch {
        var program: LoopProgram?
    }

    /// Sends a signal to the program and all that it has started in its session's first group; to nobody once it has
    /// ended.
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
        _ command: [String], _ variables: [String: String], input: Int32
    ) throws(TransportError) -> pid_t {
        var words = CStrings(command)
        var environment = CStrings(LoopProgram.environment(adding: variables))
        defer {
            words.free()
            environment.free()
        }
        let process = words.withPointers { words in
            environment.withPointers { cuv_spawn(words, $0, input, SIGTERM) }
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

/// Strings as C has them, with a null pointer behind the last.
private struct CStrings {
    private var pointers: [UnsafeMutablePointer<CChar>?]

    init(_ strings: [String]) {
        pointers = strings.map { strdup($0) } + [nil]
    }

    mutating func withPointers<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        // Never empty, so that it has an address.
        pointers.withUnsafeMutableBufferPointer { body($0.baseAddress!) }
    }

    func free() {
        for pointer in pointers { Glibc.free(pointer) }
    }
}

/// Bytes as a file that is nowhere on disk, for a program to read as its standard input. However many they are, neither
/// side ever waits for the other, and a program that does not read them disturbs nobody.
public struct MemoryFile: ~Copyable {
    fileprivate let descriptor: Descriptor

    /// A file with these bytes, to be read from their beginning.
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
