import Foundation

/// Decompresses by the machine's own `gzip`, so that not our code judges our code.
enum Gunzip {
    static func decompressed(_ bytes: [UInt8]) throws -> String {
        let folder = try ScratchFolder()
        try Data(bytes).write(to: URL(fileURLWithPath: folder("body.gz")))
        try MachineProgram(["/bin/gzip", "-d", folder("body.gz")]).waitUntilEnd()
        return folder.text(of: "body") ?? ""
    }
}
