import Glibc

/// The canonical form of a path, without symbolic links. Paths that lead to one file through different symbolic links
/// have the same form. The file and the directories above it need not exist.
enum CanonicalPath {
    /// Returns the resolved path. See ``resolve(_:)``.
    static func of(_ path: String) -> String {
        resolve(path).path
    }

    /// Returns the resolved path, and the paths of all links that were followed. A relative path starts at the working
    /// directory. If links form a circle, the rest of the path is returned unresolved.
    static func resolve(_ path: String) -> (path: String, links: [String]) {
        var resolved: [String] = path.hasPrefix("/") ? [] : steps(workingDirectory)
        var rest = Array(steps(path).reversed())
        var links: [String] = []
        while let step = rest.popLast() {
            if step == ".." {
                _ = resolved.popLast()
                continue
            }
            let here = "/" + (resolved + [step]).joined(separator: "/")
            guard links.count < mostLinks, let target = link(at: here) else {
                resolved.append(step)
                continue
            }
            links.append(here)
            if target.hasPrefix("/") { resolved = [] }
            rest += steps(target).reversed()
        }
        return ("/" + resolved.joined(separator: "/"), links)
    }

    /// Returns the type bits of a file's mode, or nil if there is no such file.
    static func kind(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    /// The most links that are followed, as in Linux.
    private static let mostLinks = 40

    private static func steps(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
    }

    private static var workingDirectory: String {
        guard let text = getcwd(nil, 0) else { return "/" }
        defer { free(text) }
        return String(cString: text)
    }

    /// Returns the target of a symbolic link, or nil if the path is none. Links in `/proc` may lead to pipes and
    /// sockets, which have no path, and return nil.
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
