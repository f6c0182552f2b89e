import HeadgateCore

/// A built-in transformation as the configuration describes it (Behaviour P4).
struct ConfiguredTransformation: Sendable, Equatable {
    /// Its name, place and events; its transformer bears its own name.
    var settings: TransformationSettings
    /// What it does, in order.
    var edits: [EventEdit]
}
