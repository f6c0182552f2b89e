import Glibc

/// The path of a file without symbolic links and detours, so that two spellings of one file are found to be one. The file,
/// and directories above it, need not exist.
enum CanonicalPath {
    /// Resolves a path; one that is not absolute is relative to the working directory. A path in which links lead in a
    /// circle stays as it is from there on.
    static func of(_ path: String) -> String {
        var resolved: [String] = path.hasPrefix("/") ? [] : steps(workingDirectory)
        var rest = Array(steps(path).reversed())
        var links = 0
        while let step = rest.popLast() {
            if step == ".." {
                _ = resolved.popLast()
                continue
            }
            let here = "/" + (resolved + [step]).joined(separator: "/")
            guard links < mostLinks, let target = link(at: here) else {
                resolved.append(step)
                continue
            }
            links += 1
            if target.hasPrefix("/") { resolved = [] }
            rest += steps(target).reversed()
        }
        return "/" + resolved.joined(separator: "/")
    }

    /// The type bits of a file's mode; nil if there is no such file.
    static func kind(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    /// As many as Linux follows.
    private static let mostLinks = 40

    private static func steps(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
    }

    private static var workingDirectory: String {
        guard let text = getcwd(nil, 0) else { return "/" }
        defer { free(text) }
        return String(cString: text)
    }

    /// The target of a symbolic link; nil if the path is none. Links in `/proc` may lead to pipes and sockets, which have no
    /// path.
    private static func link(at path: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(path, start, buffer.count)
            guard count > 0, count < buffer.count else { return nil }
            let target = String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
            let isNamed = target.hasPrefix("/") || !path.hasPrefix("/proc/")
            return isNamed ? target : nil
        }
    }
}
