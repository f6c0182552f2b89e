import HeadgateServer

/// `headgated --check`: says what is wrong with the configuration.
struct Check {
    let options: DaemonOptions
    let environment: [String: String]

    /// The exit code: 0 if the configuration can be used.
    func run() -> Int32 {
        var layers = SettingsLayers()
        let reading = layers.load(file: options.configuration, environment: environment)
        for line in reading.findings.lines { Terminal.error(line) }
        guard reading.faults.isEmpty else { return 1 }
        Terminal.print("the configuration is valid")
        return 0
    }
}
