import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// The configuration file of a history. It is edited at any time, and read when a daemon starts or reloads (Behaviour
/// S3). The dispatcher `d` exists only in this file.
final class ConfigurationFile {
    static let path = "/nowhere/headgate.json"
    static let queue = "d"

    private enum Text {
        case sound(DataObject, SimulatedDestination.Terms?)
        /// A text that must be refused as a whole.
        case broken(String)
        case missing
    }

    private let record: Record
    private let scene: Scene
    private let destination: SimulatedDestination
    private let orphans: Orphans?
    private var text = Text.sound([:], nil)
    /// The settings that were read last.
    private(set) var inForce: DataObject = [:]
    private(set) var wasSound = true
    private var isCalm = false

    init(_ record: Record, _ scene: Scene, _ destination: SimulatedDestination, _ orphans: Orphans?) {
        (self.record, self.scene, self.destination, self.orphans) = (record, scene, destination, orphans)
    }

    // MARK: Writing

    func edit() {
        switch record.number(0...6) {
        case 0: text = .broken(#"{"dispatchers": {"d":"#)
        case 1: text = .broken(#"{"dispatchers": {"d": {"kind": "far", "dispatch_limit": 0}}}"#)
        case 2: text = .missing
        case 3: text = .sound([:], nil)
        default:
            let terms = SimulatedDestination.Terms(record)
            let entry = scene.entry(of: ConfigurationFile.queue, terms)
            text = .sound(["dispatchers": ["d": .object(entry)]], terms)
        }
        record.note("the operator edits the file: \(text)")
    }

    func calmDown() {
        isCalm = true
    }

    // MARK: Reading

    func read(_ path: String) throws(SettingsFault) -> DataObject {
        wasSound = false
        switch text {
        case .broken(let text):
            record.count(.fileRefused)
            return try SettingsText.parse(Array(text.utf8))
        case .missing:
            record.count(.fileRefused)
            throw SettingsFault(path: "", message: "\(path) cannot be read")
        case .sound(let object, let terms):
            wasSound = true
            // A change of its settings releases a refused dispatcher (Behaviour D7).
            if object != inForce { destination.isHeld = false }
            inForce = object
            comesIntoForce(terms)
            return object
        }
    }

    /// Repairs a file that keeps a daemon from starting.
    func startFailed() {
        guard !wasSound else { return }
        text = .sound([:], nil)
    }

    /// Records that a file is read and put in force in one step.
    private func comesIntoForce(_ terms: SimulatedDestination.Terms?) {
        record.count(.fileRead)
        guard !isCalm else { return }
        if let terms {
            destination.setTerms(terms)
            if destination.isGone { destination.queue.isPatchy = true }
            orphans?.comes(destination.id, isCertain: true)
        } else {
            if !destination.isGone { destination.queue.isPatchy = true }
            destination.isHeld = false
            orphans?.goes(destination.id, isCertain: true)
        }
        (destination.isRemoved, destination.isGone) = (terms == nil, terms == nil)
    }
}
