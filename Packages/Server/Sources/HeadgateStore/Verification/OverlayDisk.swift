import Glibc
import HeadgateCore

/// A disk that reads another disk and does not change it: writes stay in memory, until this object is released.
///
/// `@unchecked`: it is used by one thread.
package final class OverlayDisk: Disk, @unchecked Sendable {
    package init() {}

    private let system = SystemDisk()
    /// The changed files by name; nil for a removed file.
    private var changed: [String: OverlayFile?] = [:]

    package func makeDirectory(_ path: String) {}

    package func open(_ path: String, creating: Bool) throws(DiskFault) -> any DiskFile {
        if let known = changed[path] {
            if let file = known { return file }
            guard creating else { throw DiskFault(code: ENOENT) }
        }
        let isThere = changed[path] == nil && system.exists(path)
        guard isThere || creating else { throw DiskFault(code: ENOENT) }
        // Files that are only read are not kept: there may be more than a process may have open.
        let file = OverlayFile(isThere ? try system.openForReading(path) : nil) { [unowned self] in changed[path] = $0 }
        if !isThere { changed[path] = file }
        return file
    }

    package func openDirectory(_ path: String) throws(DiskFault) -> (any DiskFile)? { try system.openDirectory(path) }

    package func exists(_ path: String) -> Bool {
        guard let known = changed[path] else { return system.exists(path) }
        return known != nil
    }

    package func list(_ directory: String) throws(DiskFault) -> [String] {
        let prefix = directory + "/"
        let gone = Set(changed.filter { $0.value == nil }.map(\.key))
        let new = changed.filter { $0.value != nil && $0.key.hasPrefix(prefix) }.map {
            String($0.key.dropFirst(prefix.count))
        }
        let old = system.exists(directory) ? try system.list(directory) : []
        return Set(old.filter { !gone.contains(prefix + $0) } + new.filter { !$0.contains("/") }).sorted()
    }

    /// Renames a file, or a directory with the files in it.
    package func rename(_ path: String, to new: String) throws(DiskFault) {
        var names = [path]
        if let inside = try? list(path) { names += inside.map { path + "/" + $0 } }
        for name in names {
            guard let file = try? open(name, creating: false) as? OverlayFile else { continue }
            changed[new + name.dropFirst(path.count)] = .some(file)
            changed[name] = .some(nil)
        }
    }

    package func remove(_ path: String) {
        changed[path] = .some(nil)
    }

    package func syncDirectory(_ path: String) {}
}

/// A file whose changes are in memory.
private final class OverlayFile: DiskFile {
    private let base: (any DiskFile)?
    /// The whole content, once something was written.
    private var own: [UInt8]?
    /// Called before the first change.
    private let willChange: (OverlayFile) -> Void

    init(_ base: (any DiskFile)?, willChange: @escaping (OverlayFile) -> Void) {
        (self.base, self.willChange) = (base, willChange)
        if base == nil { own = [] }
    }

    func size() throws(DiskFault) -> Int {
        if let own { return own.count }
        return try base?.size() ?? 0
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskFault) -> Int {
        guard let own else { return try base?.read(into: buffer, at: offset) ?? 0 }
        let count = max(0, min(buffer.count, own.count - offset))
        own.withUnsafeBytes { bytes in
            if count > 0 { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])) }
        }
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskFault) {
        try change(atLeast: offset + bytes.count)
        own?.withUnsafeMutableBytes { own in
            UnsafeMutableRawBufferPointer(rebasing: own[offset..<offset + bytes.count]).copyMemory(from: bytes)
        }
    }

    func resize(to count: Int) throws(DiskFault) {
        try change(atLeast: count)
        let excess = (own?.count ?? 0) - count
        own?.removeLast(excess)
    }

    func preallocate(_ count: Int) throws(DiskFault) {
        try change(atLeast: count)
    }

    func sync() {}

    /// Locks the file that is read, because its owner may change it.
    func lock() throws(DiskFault) -> Bool { try base?.lock() ?? true }

    private func change(atLeast count: Int) throws(DiskFault) {
        if own == nil {
            own = try base?.read(0..<(try base?.size() ?? 0)) ?? []
            willChange(self)
        }
        let missing = count - (own?.count ?? 0)
        if missing > 0 { own?.append(contentsOf: repeatElement(0, count: missing)) }
    }
}
