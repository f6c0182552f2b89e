import Foundation

/// Imitates a child process between fork and exec: it has copies of all open file descriptors, with their locks, and
/// keeps them when this process closes its own.
final class StartingProgram {
    /// Duplicates of all descriptors of the file that this process has open.
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
