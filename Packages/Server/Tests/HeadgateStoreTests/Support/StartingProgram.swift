import Foundation

/// Stands for a program that this process is just starting: between fork and exec it has all that was open, each file
/// with its lock, and goes on having it when this process closes its own.
final class StartingProgram {
    /// The part of a file that the program has.
    let descriptors: [Int32]

    init(has path: String) {
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        descriptors = open.compactMap(Int32.init).compactMap { number in
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)"),
                target == file
            else { return nil }
            return fcntl(number, F_DUPFD_CLOEXEC, 0)
        }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }
}
