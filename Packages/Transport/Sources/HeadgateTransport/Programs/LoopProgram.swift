import CUV
import Glibc

/// A program that this process has started, and hears the end of on its loop. It leaves no zombie as long as the loop
/// runs.
///
/// It has a session of its own, so that a signal from the terminal is not for it, standard output and standard error of
/// this process, and nothing else that is open here.
public final class LoopProgram {
    /// How a program ended.
    public enum End: Equatable, Sendable {
        /// By itself, with this code.
        case exited(Int32)
        /// By this signal.
        case killed(signal: Int32)
    }

    private let loop: EventLoop
    private let handle: Handle

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
        self.loop = loop
        var words = CStrings(command)
        var environment = CStrings(LoopProgram.environment(adding: variables))
        var streams = LoopProgram.streams(input: input.descriptor.number)
        defer {
            words.free()
            environment.free()
        }
        var code: Int32 = 0
        handle = try Handle("uv_spawn", in: loop.handles) { (raw, process: UnsafeMutablePointer<uv_process_t>) in
            code = LoopProgram.spawn(raw, process, &words, &environment, &streams)
            // Also a handle that could not be started is libuv's until it is closed.
            return 0
        }
        guard code < 0 else {
            handle.onEvent = { [loop, handle] status, signal in
                loop.release(handle)
                whenEnded(signal > 0 ? .killed(signal: signal) : .exited(status))
            }
            return
        }
        handle.close()
        throw .system(operation: "cannot start", code: code, path: command.first)
    }

    /// Sends a signal to the program and all that it has started in its session's first group; to nobody once it has
    /// ended.
    public func signal(_ number: Int32) {
        guard handle.isOpen else { return }
        kill(-uv_process_get_pid(handle.raw()), number)
    }

    private static func spawn(
        _ loop: UnsafeMutablePointer<uv_loop_t>, _ process: UnsafeMutablePointer<uv_process_t>,
        _ words: inout CStrings, _ environment: inout CStrings, _ streams: inout [uv_stdio_container_t]
    ) -> Int32 {
        streams.withUnsafeMutableBufferPointer { streams in
            words.withPointers { words in
                environment.withPointers { environment in
                    var options = uv_process_options_t()
                    options.exit_cb = { Handle.of($0).onEvent?(Int32(truncatingIfNeeded: $1), $2) }
                    options.file = UnsafePointer(words[0])
                    options.args = words
                    options.env = environment
                    options.flags = UV_PROCESS_DETACHED.rawValue
                    options.stdio_count = Int32(streams.count)
                    options.stdio = streams.baseAddress
                    return uv_spawn(loop, process, &options)
                }
            }
        }
    }

    private static func streams(input: Int32) -> [uv_stdio_container_t] {
        [input, STDOUT_FILENO, STDERR_FILENO].map { descriptor in
            var stream = uv_stdio_container_t()
            stream.flags = UV_INHERIT_FD
            stream.data.fd = descriptor
            return stream
        }
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
