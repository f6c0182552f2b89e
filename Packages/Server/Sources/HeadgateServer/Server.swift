import HeadgateTransport

/// A Headgate daemon inside a program. It lives on the event loop that it is given.
public actor Server {
    private nonisolated let loop: EventLoop
    private var service: Service?

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// A server that does nothing yet.
    public init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Opens the store and the socket.
    /// - Parameters:
    ///   - layers: the settings by layer.
    ///   - reading: what came of reading them together; without settings the server does not start.
    ///   - inherited: listening sockets that a service manager has opened; without any the server opens its own.
    public func start(
        layers: SettingsLayers, reading: SettingsReading, places: Places, inherited: [Int32] = []
    ) throws(StartFault) {
        guard service == nil else { throw StartFault("the server runs already") }
        let service = try Service(loop: loop, layers: layers, reading: reading, places: places)
        try service.listen(inherited: inherited)
        self.service = service
    }

    /// Stops in an orderly way (Behaviour D11): what is in flight is finished, within `shutdown_timeout_ms`, and the rest
    /// stays stored. `then` is called on the loop when it is done.
    public func stop(then: @escaping @Sendable () -> Void) {
        guard let service else { return then() }
        service.stop(then: then)
    }
}
