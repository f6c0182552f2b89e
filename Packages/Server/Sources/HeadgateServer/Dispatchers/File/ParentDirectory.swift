import Glibc

/// The directory that a file is in.
struct ParentDirectory {
    private let path: String

    init(of file: String) {
        guard let slash = file.lastIndex(of: "/") else {
            path = "."
            return
        }
        path = slash == file.startIndex ? "/" : String(file[..<slash])
    }

    /// Makes it with mode 0750 if it is missing. One that is to be in a missing directory itself is refused: that is
    /// rather a slip in the path.
    func create() throws(FileFault) {
        guard mkdir(path, 0o750) == 0 || errno == EEXIST else { throw .last }
    }

    /// Makes the names in it survive a loss of power.
    func sync() throws(FileFault) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last }
        defer { close(descriptor) }
        // Some file systems cannot do this, and have no need of it.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw .last }
    }
}
