import HeadgateData
import HeadgateServer

/// The parser of settings. Any text yields settings or faults, and accepted settings can be displayed and patched.
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
        // Merging the settings into themselves must not change them.
        layers.patch(object)
        precondition(
            Settings.read(layers.effective).settings == reading.settings, "another reading of the same settings")
        return 0
    }
}
