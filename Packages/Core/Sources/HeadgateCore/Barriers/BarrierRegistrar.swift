/// Takes barriers that come and go while the service runs (Behaviour B8). They get no settings.
public protocol BarrierRegistrar: AnyObject {
    /// Puts a barrier before the dispatchers in these scopes; the same instance again replaces its scopes.
    func registerScopedBarrier(_ barrier: any Barrier, scopes: [BarrierScope])
    /// Takes a barrier away; one that is not there changes nothing.
    func unregisterScopedBarrier(_ barrier: any Barrier)
}

/// The way to a registrar for those that it outlives, or that hold each other up. Does nothing once it is gone.
final class RegistrarLink: BarrierRegistrar {
    private weak var registrar: (any BarrierRegistrar)?

    init(_ registrar: (any BarrierRegistrar)? = nil) {
        self.registrar = registrar
    }

    func registerScopedBarrier(_ barrier: any Barrier, scopes: [BarrierScope]) {
        registrar?.registerScopedBarrier(barrier, scopes: scopes)
    }

    func unregisterScopedBarrier(_ barrier: any Barrier) {
        registrar?.unregisterScopedBarrier(barrier)
    }
}
