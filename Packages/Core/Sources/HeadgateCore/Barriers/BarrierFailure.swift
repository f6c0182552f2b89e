/// A barrier whose code threw, or that refused its configuration (Behaviour B7, B9).
public struct BarrierFailure {
    public var barrier: BarrierIdentity
    public var error: any Error
}
