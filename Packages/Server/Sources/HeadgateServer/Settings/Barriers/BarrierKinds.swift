import HeadgateCore
import HeadgateData

/// The kinds of barriers that may be configured, and what each may be told.
public struct BarrierKinds: Sendable {
    /// Finds what is wrong with a barrier's configuration; `path` is where that lies.
    public typealias Judge = @Sendable (_ configuration: DataObject, _ path: String) -> SettingsFindings

    private var judges: [String: Judge] = [:]

    /// No kind.
    public init() {}

    /// The kinds that come with the service.
    public static let builtIn: BarrierKinds = {
        var kinds = BarrierKinds()
        kinds.add(BatchingBarrier.id, judge: batching)
        return kinds
    }()

    /// Kinds that the service itself puts before dispatchers, one for each, and steers.
    static let ownedByService = ["ManualBarrier", "BackoffBarrier", "ActivationGate"]

    /// The kinds' names, sorted.
    public var names: [String] { judges.keys.sorted() }

    /// Adds a kind, or replaces it.
    public mutating func add(_ kind: String, judge: @escaping Judge) {
        judges[kind] = judge
    }

    /// Finds what is wrong with an entry's kind and configuration.
    func judge(kind: String, _ configuration: DataObject, entry path: String) -> SettingsFindings {
        if let judge = judges[kind] { return judge(configuration, path + ".configuration") }
        return SettingsFindings(faults: [SettingsFault(path: path + ".kind", message: complaint(about: kind))])
    }

    private func complaint(about kind: String) -> String {
        if BarrierKinds.ownedByService.contains(kind) { return "the service has this barrier by itself" }
        if NotYetSupported.barrierKinds.contains(kind) { return NotYetSupported.message }
        return SettingsReader.mustBeOne(of: names)
    }

    /// `{batch_size, max_wait_ms}` (Behaviour B22): any size, for less than one is one.
    private static let batching: Judge = { configuration, path in
        let reader = SettingsReader(configuration, path: path)
        _ = reader.integer("batch_size", in: -SettingsReader.most...SettingsReader.most)
        _ = reader.milliseconds("max_wait_ms")
        reader.finish()
        return reader.findings
    }
}
