import HeadgateTransport

/// A Headgate daemon inside a program. It lives on the event loop that it is given.
public actor Server {
    private nonisolated let loop: EventLoop
    private(set) var service: Service?

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// A server that does nothing yet.
    public init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Reads the settings, and opens the store and the socket.
    /// - Returns: the socket's path.
    @discardableResult
    public func start(_ configuration: sending ServerConfiguration) throws(StartFault) -> String {
        guard service == nil else { throw StartFault("the server runs already") }
        let log = Log()
        let loaded = try configuration.load { log.warning($0.description) }
        let service = try Service(loop: loop, configuration: configuration, loaded: loaded)
        try service.listen()
        self.service = service
        return loaded.places.socket
    }

    /// Reads the configuration file again (Behaviour S3). Faults are logged, and leave everything as it was.
    public func reload() {
        service?.reload()
    }

    /// Stops in an orderly way (Behaviour D11): what is in flight is finished, within `shutdown_timeout_ms`, and the rest
    /// stays stored. `then` is called on the loop when it is done; a second stop waits for the same end.
    public func stop(then: @escaping @Sendable () -> Void) {
        guard let service else { return then() }
        service.stop(then: then)
    }
}
