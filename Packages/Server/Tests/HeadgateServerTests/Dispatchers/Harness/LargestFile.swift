import Foundation

/// A file that is as large as its file system lets files be, but for a little, and takes no room: it is one hole with a
/// line end behind it. Writing more than is left fails midway.
enum LargestFile {
    static func make(at path: String, leaving left: Int) throws {
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw TestSocket.Failure(operation: "open") }
        defer { close(descriptor) }
        let size = largestSize(of: descriptor) - left
        guard ftruncate(descriptor, size) == 0, pwrite(descriptor, "\n", 1, size - 1) == 1 else {
            throw TestSocket.Failure(operation: "ftruncate")
        }
    }

    private static func largestSize(of descriptor: Int32) -> Int {
        var (possible, impossible) = (0, Int.max)
        guard ftruncate(descriptor, Int.max) != 0 else { return Int.max }
        while impossible - possible > 1 {
            let middle = possible + (impossible - possible) / 2
            if ftruncate(descriptor, middle) == 0 { possible = middle } else { impossible = middle }
        }
        return possible
    }
}
