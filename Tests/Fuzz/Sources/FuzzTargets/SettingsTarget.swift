import HeadgateData
import HeadgateServer

/// The settings' loader: any text gives settings or faults, and what is taken is shown and patched without trouble.
enum SettingsTarget {
    static func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard let object = try? SettingsText.parse(Array(input)) else { return 0 }
        var layers = SettingsLayers()
        layers[.file] = object
        let reading = Settings.read(layers.effective)
        precondition((reading.settings == nil) == !reading.faults.isEmpty)
        for finding in reading.faults + reading.warnings { _ = finding.description }
        guard reading.settings != nil else { return 0 }
        _ = SettingsDisplay.blanked(layers.effective)
        // Laid over itself it says the same.
        layers.patch(object)
        precondition(
            Settings.read(layers.effective).settings == reading.settings, "another reading of the same settings")
        return 0
    }
}
