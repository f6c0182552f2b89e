extension HeadgateClient {
    /// Where settings come from (Behaviour S1).
    public enum SettingsLayer: String, Sendable, CaseIterable {
        /// The configuration file.
        case file
        /// A URL that the file names.
        case remote
        /// What programs have set.
        case programmatic
    }
}
