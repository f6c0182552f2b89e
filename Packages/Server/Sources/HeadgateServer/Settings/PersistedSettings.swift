import HeadgateCore
import HeadgateData
import HeadgateWire

/// The settings that `config.set` persisted. They lie in a file of their own in the data directory, because a start reads
/// them before it opens the store (Behaviour S1).
struct PersistedSettings {
    /// The file's name in the data directory.
    static let name = "persisted-settings.json"

    private let directory: String
    private let disk: any Disk

    init(directory: String, on disk: any Disk) {
        self.directory = directory
        self.disk = disk
    }

    private var path: String { "\(directory)/\(PersistedSettings.name)" }

    /// The settings; none if nothing was ever persisted. Nil if the file has something else than an object.
    func read() throws(DiskFault) -> DataObject? {
        guard disk.exists(path) else { return [:] }
        let file = try disk.open(path, creating: false)
        var bytes = [UInt8](repeating: 0, count: try file.size())
        let count = try bytes.withUnsafeMutableBufferPointer { buffer throws(DiskFault) in
            try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
        guard count == bytes.count, let item = try? DataItem(parsing: bytes) else { return nil }
        return DataObject(dataItem: item)
    }

    /// Replaces the file whole. When this returns the settings survive a power failure; when it throws, the former ones or
    /// these do.
    func write(_ settings: DataObject) throws(DiskFault) {
        var json = JSONWriter()
        json.object(settings)
        let fresh = path + ".new"
        let file = try disk.open(fresh, creating: true)
        try file.resize(to: 0)
        try json.bytes.withUnsafeBufferPointer { bytes throws(DiskFault) in
            try file.write(UnsafeRawBufferPointer(bytes), at: 0)
        }
        try file.sync()
        try disk.rename(fresh, to: path)
        try disk.syncDirectory(directory)
    }

    /// Settings that cannot be persisted: a start needs them before it can read this file.
    static let refused = ["socket", "data_dir"]

    /// Faults of a patch that is to be persisted.
    static func faults(of patch: DataObject) -> [SettingsFault] {
        refused.filter { patch[$0] != nil }.map {
            SettingsFault(
                path: $0,
                message: "cannot be persisted: a start needs it before it reads what was persisted; set it in the file")
        }
    }
}
