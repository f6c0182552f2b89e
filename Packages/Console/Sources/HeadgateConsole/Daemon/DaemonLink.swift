import HeadgateClient
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// The console's connection to the daemon.
///
/// While pages are open, the link has one watch and calls `status` every two seconds, for any number of pages. Without
/// open pages it calls nothing. If the daemon is away, each call tries to connect again.
final class DaemonLink {
    private let loop: EventLoop
    private let connection: ClientConnection
    /// Called after each change of the state.
    private let changed: () -> Void
    private(set) var state = DaemonState()
    private(set) var history = History()
    private var isActive = false
    private var watch: ClientConnection.Call?
    private var isAsking = false
    private var waiting: [() -> Void] = []
    private lazy var timer = LoopTimer(on: loop) { [weak self] in self?.sample() }

    private static let timeLimit = Duration.seconds(5)
    private static let interval = Duration.seconds(2)

    init(socketPath: String?, on loop: EventLoop, changed: @escaping () -> Void) {
        self.loop = loop
        self.changed = changed
        var options = ClientOptions()
        // A call fails at once if the daemon is away, because the console shows that and repeats its calls itself.
        options.onWarning = nil
        options.connectTimeout = .zero
        options.reconnectTimeout = .zero
        options.greetingTimeout = Self.timeLimit
        connection = ClientConnection(
            to: socketPath ?? SocketPath.default,
            as: ClientIdentity(name: "headgate-console", version: Version.current),
            options: options, on: loop)
    }

    /// Returns true if the page of clients is open. Only that page needs the list of clients.
    var isClientsPageOpen: () -> Bool = { false }

    /// The path of the daemon's socket.
    var socketPath: String { connection.socketPath }

    /// Starts to watch and call the daemon if `isActive` is true, because a page is open. Stops if it is false.
    func attend(_ isActive: Bool) {
        self.isActive = isActive
        guard !isActive else { return sample() }
        timer.cancel()
        guard let watch else { return }
        self.watch = nil
        connection.cancel(watch)
    }

    /// Calls `then` once the state is up to date, or the daemon is known to be away.
    func whenUpToDate(_ then: @escaping () -> Void) {
        if isActive, state.presence == .serving { return then() }
        waiting.append(then)
        sample()
    }

    /// Calls `then` once the state has the connected clients, if the daemon returns them.
    func whenClientsAreKnown(_ then: @escaping () -> Void) {
        ask("client.list") { [weak self] result in
            self?.state.take(clients: (try? result.get()).flatMap(ListedClient.list))
            then()
        }
    }

    /// Calls `then` once the state is newer than this call, because something was changed.
    func whenRefreshed(_ then: @escaping () -> Void) {
        ask("status") { [weak self] result in
            guard let self else { return }
            if let status = try? result.get() { self.state.take(status: status, at: self.now) }
            then()
            self.changed()
        }
    }

    /// Calls a method of the daemon. `completion` is called once, within a few seconds.
    func ask(
        _ method: String, _ params: DataObject = [:], _ completion: @escaping (Result<DataObject, any Error>) -> Void
    ) {
        connection.call(method, params, deadline: Self.timeLimit) { result in
            completion(Result { DataObject(try result.get()) })
        }
    }

    /// Closes the connection.
    func close() {
        attend(false)
        connection.close()
    }

    private var now: Timestamp { loop.wallNow }

    // MARK: Following the daemon

    private func sample() {
        if isActive { timer.arm(after: Self.interval) }
        guard !isAsking else { return }
        isAsking = true
        ask("status") { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let status): self.take(status)
            case .failure(let error):
                self.state.fail(error, at: self.now)
                self.sampled()
            }
        }
    }

    private func take(_ status: DataObject) {
        state.take(status: status, at: now)
        guard isActive else { return sampled() }
        follow()
        ask("metrics") { [weak self] result in
            guard let self else { return }
            self.state.take(metrics: (try? result.get()).map(MetricTable.init))
            self.history.take(History.Sample(self.state), at: Double(self.loop.monotonicNow) / 1e9)
            guard self.isClientsPageOpen() else { return self.sampled() }
            self.whenClientsAreKnown { self.sampled() }
        }
    }

    private func sampled() {
        isAsking = false
        let waiting = self.waiting
        self.waiting = []
        for then in waiting { then() }
        changed()
    }

    private func follow() {
        guard watch == nil else { return }
        watch = connection.watch([.dispatchers, .barriers]) { [weak self] in self?.take($0) }
    }

    private func take(_ news: WatchNews) {
        switch news {
        case .began: return
        case .changed(let params):
            guard let update = WatchUpdate(params) else { return }
            state.take(update, at: now)
        case .interrupted(let error): state.fail(error, at: now)
        case .ended(let error):
            // The next call of `status` starts a new watch.
            watch = nil
            guard isActive, !(error is CancellationError) else { return }
            state.fail(error, at: now)
        }
        changed()
    }
}
