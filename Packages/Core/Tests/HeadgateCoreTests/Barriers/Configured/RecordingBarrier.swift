import HeadgateCore
import HeadgateData

/// A configurable barrier that records each configuration it gets. `{"state": "closed"}` closes the barrier; it rejects
/// `{"refuse": true}`; `{"fail": true}` makes it throw an unexpected error.
final class RecordingBarrier: ConfigurableBarrier {
    static let id = "RecordingBarrier"

    /// The unexpected error thrown for `{"fail": true}`.
    enum Failure: Error {
        case failed
    }

    private(set) var received: [DataObject] = []
    /// True if the barrier rejects every configuration.
    var refusesAll = false
    @StateSubject(.open) private var state: ObservableState<BarrierState>

    init(_ configuration: DataObject) throws {
        try updateConfiguration(configuration)
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    func updateConfiguration(_ configuration: DataObject) throws {
        received.append(configuration)
        if refusesAll || configuration["refuse"] != nil {
            throw BarrierConfigurationFault(key: "refuse", message: "is refused")
        }
        if configuration["fail"] != nil { throw Failure.failed }
        _state.value = configuration.get(key: "state") == "closed" ? .closed : .open
    }

    /// Creates barriers and keeps a reference to each.
    final class Factory: BarrierFactory {
        private(set) var made: [RecordingBarrier] = []
        var scopes: [BarrierScope] = [.all]

        func create(context: BarrierContext, configuration: DataObject) throws -> RecordingBarrier {
            let barrier = try RecordingBarrier(configuration)
            made.append(barrier)
            return barrier
        }

        func defaultScopes() -> [BarrierScope] { scopes }
    }
}
