import Foundation

/// Imitates a program that this process is starting. Between fork and exec the program has copies of all open files
/// with their locks, and keeps them when this process closes its own.
final class StartingProgram {
    /// The copies of a file's descriptors.
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
