/// Factories of the built-in barriers, for programs that want them with other default scopes:
///
///     try gate.addBarrier(Barriers.batching(defaultScopes: [.all]))
///
/// Settings that name scopes come before these (Behaviour B5).
public enum Barriers {
    /// Holds a dispatcher until enough of its dispatches wait (Behaviour B22).
    public static func batching(
        defaultScopes: [BarrierScope] = [.dispatcher(id: Modules.Types.collect)]
    ) -> BatchingBarrier.Factory {
        BatchingBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// Holds dispatchers without a network connection (Behaviour B20).
    public static func connectivity(defaultScopes: [BarrierScope]) -> ConnectivityBarrier.Factory {
        ConnectivityBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// Holds dispatchers outside some hours (Behaviour B24).
    public static func schedule(defaultScopes: [BarrierScope] = [.all]) -> ScheduleBarrier.Factory {
        ScheduleBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// Opens now and then (Behaviour B25).
    public static func interval(defaultScopes: [BarrierScope] = [.all]) -> IntervalBarrier.Factory {
        IntervalBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// Holds dispatchers while all clients are in the background (Behaviour B26).
    public static func applicationStatus(defaultScopes: [BarrierScope] = [.all]) -> ApplicationStatusBarrier.Factory {
        ApplicationStatusBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// Holds a dispatcher to a rate (Behaviour B27).
    public static func rate(defaultScopes: [BarrierScope] = [.all]) -> RateBarrier.Factory {
        RateBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// The kinds that settings may name, but for connectivity, which follows the dispatchers that reach the network. A new
    /// kind is a file of its own and a line here.
    public static var builtIn: [any BarrierFactory] {
        [batching(), schedule(), interval(), applicationStatus(), rate()]
    }
}
