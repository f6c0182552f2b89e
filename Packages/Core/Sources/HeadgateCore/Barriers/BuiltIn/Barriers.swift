/// Factories of the built-in barriers, for programs that want other default scopes.
///
///     try gate.barriers.add(Barriers.batching(defaultScopes: [.all]))
///
/// Scopes in the settings take precedence over these (Behaviour B5).
public enum Barriers {
    /// Returns a factory of barriers that block a dispatcher until enough of its dispatches are pending (Behaviour
    /// B22).
    public static func batching(
        defaultScopes: [BarrierScope] = [.dispatcher(id: Modules.Types.collect)]
    ) -> BatchingBarrier.Factory {
        BatchingBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// Returns a factory of barriers that block dispatchers without a network connection (Behaviour B20).
    public static func connectivity(defaultScopes: [BarrierScope]) -> ConnectivityBarrier.Factory {
        ConnectivityBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// Returns a factory of barriers that block dispatchers outside of certain hours (Behaviour B24).
    public static func schedule(defaultScopes: [BarrierScope] = [.all]) -> ScheduleBarrier.Factory {
        ScheduleBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// Returns a factory of barriers that open periodically (Behaviour B25).
    public static func interval(defaultScopes: [BarrierScope] = [.all]) -> IntervalBarrier.Factory {
        IntervalBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// Returns a factory of barriers that block dispatchers while all clients are in the background (Behaviour B26).
    public static func applicationStatus(defaultScopes: [BarrierScope] = [.all]) -> ApplicationStatusBarrier.Factory {
        ApplicationStatusBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// Returns a factory of barriers that limit a dispatcher's rate (Behaviour B27).
    public static func rate(defaultScopes: [BarrierScope] = [.all]) -> RateBarrier.Factory {
        RateBarrier.Factory(defaultScopes: defaultScopes)
    }

    /// The built-in kinds for settings, except connectivity, whose scopes depend on the dispatchers. A new kind needs a
    /// file of its own and a line here.
    public static var builtIn: [any BarrierFactory] {
        [batching(), schedule(), interval(), applicationStatus(), rate()]
    }
}
