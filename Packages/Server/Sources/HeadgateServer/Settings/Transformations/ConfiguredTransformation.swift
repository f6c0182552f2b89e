import HeadgateCore
import HeadgateData

/// A transformation as the configuration describes it (Behaviour P4).
struct ConfiguredTransformation: Sendable, Equatable {
    /// Its name, place and events; its transformer bears its own name.
    var settings: TransformationSettings
    /// Who does what.
    var work: Work

    enum Work: Sendable, Equatable {
        /// The service does these, in order.
        case edits([EventEdit])
        /// The program's transformer of this kind does what its configuration says.
        case own(kind: String, configuration: DataObject)
    }

    /// Its name, which is also its transformer's.
    var id: String { settings.id }
}
