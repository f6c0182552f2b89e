import HeadgateCore
import HeadgateData

/// Asks for a permission. It opens if the question fails, and rejects an invalid configuration without a change.
final class RobustBarrier: ConfigurableBarrier {
    static let id = "RobustBarrier"

    @StateSubject(.open)
    private var state: ObservableState<BarrierState>

    private let permission: (_ key: String) throws -> Bool
    private var key = "send"

    init(configuration: DataObject, permission: @escaping (_ key: String) throws -> Bool) throws {
        self.permission = permission
        try updateConfiguration(configuration)
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    func updateConfiguration(_ configuration: DataObject) throws {
        key = try permissionKey(in: configuration)
        askAgain()
    }

    func askAgain() {
        do {
            _state.value = try permission(key) ? .open : .closed
        } catch {
            _state.value = .open
        }
    }

    private func permissionKey(in configuration: DataObject) throws -> String {
        guard let item = configuration["permission"] else { return "send" }
        guard let key: String = item.get(), !key.isEmpty else {
            throw BarrierConfigurationFault(key: "permission", message: "must be the name of a permission")
        }
        return key
    }
}
