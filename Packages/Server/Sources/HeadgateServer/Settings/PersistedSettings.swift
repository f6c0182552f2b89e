import HeadgateCore
import HeadgateData
import HeadgateWire

/// The settings that `config.set` persisted. They have a file of their own in the data directory, because a start reads
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

    /// Reads the settings. Returns an empty object if no setting was ever persisted, and nil if the file is damaged.
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

    /// Replaces the whole file. After a return the new settings survive a power failure. After an error either the old
    /// or the new settings do.
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

    /// The settings that cannot be persisted, because a start needs them before it can read this file.
    static let refused = ["socket", "data_dir"]

    /// Returns the faults of a patch that is to be persisted.
    static func faults(of patch: DataObject) -> [SettingsFault] {
        refused.filter { patch[$0] != nil }.map {
            SettingsFault(
                path: $0,
                message:
                    "cannot be persisted, because the start needs it before it reads persisted settings; set it in the configuration file"
            )
        }
    }
}
