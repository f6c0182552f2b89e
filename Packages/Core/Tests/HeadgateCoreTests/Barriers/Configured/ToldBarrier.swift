import HeadgateCore
import HeadgateData

/// A configurable barrier that writes down what it is told. `{"state": "closed"}` closes it; `{"refuse": true}` is
/// refused; `{"fail": true}` makes it throw.
final class ToldBarrier: ConfigurableBarrier {
    static let id = "ToldBarrier"

    /// What code may throw.
    enum Failure: Error {
        case failed
    }

    private(set) var told: [DataObject] = []
    /// Whether it refuses all that it is told.
    var refusesAll = false
    @StateSubject(.open) private var state: ObservableState<BarrierState>

    init(_ configuration: DataObject) throws {
        try updateConfiguration(configuration)
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    func updateConfiguration(_ configuration: DataObject) throws {
        told.append(configuration)
        if refusesAll || configuration["refuse"] != nil {
            throw BarrierConfigurationFault(key: "refuse", message: "is refused")
        }
        if configuration["fail"] != nil { throw Failure.failed }
        _state.value = configuration.get(key: "state") == "closed" ? .closed : .open
    }

    /// Makes them, and keeps hold of them.
    final class Factory: BarrierFactory {
        private(set) var made: [ToldBarrier] = []
        var scopes: [BarrierScope] = [.all]

        func create(context: BarrierContext, configuration: DataObject) throws -> ToldBarrier {
            let barrier = try ToldBarrier(configuration)
            made.append(barrier)
            return barrier
        }

        func defaultScopes() -> [BarrierScope] { scopes }
    }
}
