@testable import HeadgateServer

extension SettingsReading {
    /// Reads settings from the text of a configuration file.
    static func of(_ text: String) throws -> SettingsReading {
        Settings.read(try SettingsText.parse(Array(text.utf8)))
    }

    /// Reads settings with one dispatcher `d`, which has these members.
    static func ofDispatcher(_ members: String) throws -> SettingsReading {
        try of(#"{"dispatchers": {"d": {\#(members)}}}"#)
    }
}
