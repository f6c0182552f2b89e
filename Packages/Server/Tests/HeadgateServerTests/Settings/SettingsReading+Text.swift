@testable import HeadgateServer

extension SettingsReading {
    /// Settings as a configuration file would have them.
    static func of(_ text: String) throws -> SettingsReading {
        Settings.read(try SettingsText.parse(Array(text.utf8)))
    }

    /// Settings with one dispatcher `d`.
    static func ofDispatcher(_ members: String) throws -> SettingsReading {
        try of(#"{"dispatchers": {"d": {\#(members)}}}"#)
    }
}
