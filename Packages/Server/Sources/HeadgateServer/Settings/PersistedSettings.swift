import HeadgateCore
import HeadgateData
import HeadgateEncryption
import HeadgateWire

/// The settings that `config.set` persisted. They have a file of their own in the data directory, because a start reads
/// them before it opens the store (Behaviour S1).
struct PersistedSettings {
    /// The file's name in the data directory.
    static let name = "persisted-settings.json"

    private let directory: String
    private let disk: any Disk
    /// The keys; nil if the file is not encrypted.
    private let keyring: Keyring?

    init(directory: String, on disk: any Disk, keyring: Keyring? = nil) {
        (self.directory, self.disk, self.keyring) = (directory, disk, keyring)
    }

    private var path: String { "\(directory)/\(PersistedSettings.name)" }

    /// Reads the settings. Returns an empty object if no setting was ever persisted, and nil if the file is damaged.
    func read() throws(DiskFault) -> DataObject? {
        guard disk.exists(path) else { return [:] }
        guard let bytes = try stored(),
            let text = SealedFile.content(bytes, of: PersistedSettings.name, under: keyring),
            let item = try? DataItem(parsing: text)
        else { return nil }
        return DataObject(dataItem: item)
    }

    /// Returns an error message if the key under which the file is encrypted is missing, or nil otherwise (Behaviour
    /// C2).
    func missingKey() throws(DiskFault) -> String? {
        guard disk.exists(path), let bytes = try stored() else { return nil }
        return SealedFile.missingKey(bytes, at: path, under: keyring)
    }

    /// Returns the bytes of the file; nil if it is damaged.
    private func stored() throws(DiskFault) -> [UInt8]? {
        let file = try disk.open(path, creating: false)
        var bytes = [UInt8](repeating: 0, count: try file.size())
        let count = try bytes.withUnsafeMutableBufferPointer { buffer throws(DiskFault) in
            try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
        return count == bytes.count ? bytes : nil
    }

    /// Writes the file again if it is not encrypted as the present keys require.
    func rekey() throws(DiskFault) {
        guard let keyring, disk.exists(path), let bytes = try stored(), !SealedFile.isCurrent(bytes, under: keyring),
            let text = SealedFile.content(bytes, of: PersistedSettings.name, under: keyring)
        else { return }
        try write(text)
    }

    /// Replaces the whole file. After a return the new settings survive a power failure. After an error either the old
    /// or the new settings do.
    func write(_ settings: DataObject) throws(DiskFault) {
        var json = JSONWriter()
        json.object(settings)
        try write(json.bytes)
    }

    private func write(_ text: [UInt8]) throws(DiskFault) {
        let content = SealedFile.bytes(text, as: PersistedSettings.name, under: keyring)
        let fresh = path + ".new"
        let file = try disk.open(fresh, creating: true)
        try file.resize(to: 0)
        try content.withUnsafeBufferPointer { bytes throws(DiskFault) in
            try file.write(UnsafeRawBufferPointer(bytes), at: 0)
        }
        try file.sync()
        try disk.rename(fresh, to: path)
        try disk.syncDirectory(directory)
    }

    /// The settings that cannot be persisted, because a start needs them before it can read this file.
    static let refused = ["socket", "data_dir", "store.encryption"]

    /// Returns the faults of a patch that is to be persisted.
    static func faults(of patch: DataObject) -> [SettingsFault] {
        refused.filter { patch.contains($0.split(separator: ".").map(String.init)[...]) }.map {
            SettingsFault(
                path: $0,
                message:
                    "cannot be persisted, because the start needs it before it reads persisted settings; set it in the configuration file"
            )
        }
    }
}
