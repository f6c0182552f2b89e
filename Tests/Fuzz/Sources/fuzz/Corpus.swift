import FuzzTargets
import Glibc

/// A folder of inputs.
struct Corpus {
    private let folder: String

    init(_ folder: String) {
        self.folder = folder
    }

    /// Runs a target with all inputs.
    func run(_ target: FuzzTarget) {
        for name in names {
            let input = contents(of: "\(folder)/\(name)")
            _ = input.withUnsafeBytes(target.run)
        }
    }

    private var names: [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private func contents(of path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes.prefix(count))
    }
}
