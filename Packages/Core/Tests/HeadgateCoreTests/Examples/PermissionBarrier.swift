import HeadgateCore

/// Like ``RobustBarrier``, but leaves the handling of failures to the service.
final class PermissionBarrier: UncertainBarrier {
    private let permission: () throws -> Bool
    private let finding = StateSubject(BarrierFinding.unknown)

    init(permission: @escaping () throws -> Bool) {
        self.permission = permission
    }

    func onFinding(for dispatcherId: String) -> Observable<BarrierFinding> {
        finding.wrappedValue
    }

    func ask() {
        finding.value = BarrierFinding { try permission() ? .open : .closed }
    }
}
