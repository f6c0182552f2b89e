import Foundation

/// The resources of one test: a folder, daemons, collectors. They are removed when the test ends.
final class Scene {
    let directory: TemporaryDirectory
    private var daemons: [Daemon] = []
    private var collectors: [Collector] = []
    private var nodes: [NATSNode] = []
    private var others: [AnyObject] = []

    fileprivate init() throws {
        directory = try TemporaryDirectory()
    }

    /// Creates a running collector. With `listening: false` its port refuses connections until `listen()`.
    func collector(at address: CollectorAddress = CollectorAddress(), listening: Bool = true) throws -> Collector {
        let collector = try Collector(at: address)
        collectors.append(collector)
        if listening { try collector.listen() }
        return collector
    }

    /// Starts a daemon with the configuration.
    func daemon(_ configuration: JSON) async throws -> Daemon {
        let daemon = idleDaemon()
        try daemon.configure(configuration)
        try await daemon.start()
        return daemon
    }

    /// Starts a daemon that sends all events to one collector through the dispatcher `collect`.
    func daemon(sendingTo collector: Collector, _ settings: JSON = [:], top: JSON = [:]) async throws -> Daemon {
        try await daemon(top.merging(["dispatchers": ["collect": collector.dispatcher(settings)]]))
    }

    /// Creates a daemon without a configuration and without a process.
    func idleDaemon() -> Daemon {
        let daemon = Daemon(folder: directory.path("d\(daemons.count)"))
        daemons.append(daemon)
        return daemon
    }

    /// Starts a NATS server with further lines of configuration.
    func natsNode(_ configuration: [String] = []) async throws -> NATSNode {
        let node = try idleNATSNode()
        node.configuration = configuration
        try await node.start()
        return node
    }

    /// Starts NATS servers that form one cluster.
    func natsCluster(of count: Int) async throws -> [NATSNode] {
        let nodes = try (0..<count).map { _ in try idleNATSNode() }
        for node in nodes { node.join(nodes) }
        for node in nodes { try await node.start() }
        return nodes
    }

    private func idleNATSNode() throws -> NATSNode {
        let name = "n\(nodes.count)"
        let node = try NATSNode(name: name, folder: directory.path(name))
        nodes.append(node)
        return node
    }

    /// Keeps an object alive until the test ends.
    func keep<Thing: AnyObject>(_ thing: Thing) -> Thing {
        others.append(thing)
        return thing
    }

    fileprivate func strike() {
        for daemon in daemons { daemon.discard() }
        for node in nodes { node.discard() }
        for collector in collectors { collector.discard() }
        directory.remove()
    }
}

/// Runs a test in a new scene. The number of concurrent scenes is limited, since each has its own processes.
/// - Parameter waitsLong: True for a test that takes many seconds and mostly waits for others, for example for a
///   cluster's election. Such a test starts at once and does not count toward the limit. Otherwise the whole run could
///   end with a wait for that test.
func withScene(waitsLong: Bool = false, _ test: (Scene) async throws -> Void) async throws {
    guard !waitsLong else { return try await play(test) }
    await SceneLimit.shared.enter()
    do {
        try await play(test)
    } catch {
        await SceneLimit.shared.leave()
        throw error
    }
    await SceneLimit.shared.leave()
}

private func play(_ test: (Scene) async throws -> Void) async throws {
    let scene = try Scene()
    defer { scene.strike() }
    try await test(scene)
}

/// Limits the number of concurrent scenes.
private actor SceneLimit {
    static let shared = SceneLimit(count: 14)
    private var count: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(count: Int) {
        self.count = count
    }

    func enter() async {
        guard count == 0 else {
            count -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func leave() {
        guard waiting.isEmpty else { return waiting.removeFirst().resume() }
        count += 1
    }
}

/// A folder for one test. Its path is short enough for Unix sockets (107 bytes).
struct TemporaryDirectory {
    let path: String

    init() throws {
        let temporary = FileManager.default.temporaryDirectory.path
        let parent = temporary.utf8.count > 60 ? "/tmp" : temporary
        var template = Array("\(parent)/hg-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError("mkdtemp in \(parent)") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Returns a path in the folder.
    func path(_ name: String) -> String { path + "/" + name }

    /// Writes a file in the folder and returns its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
        return path(name)
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// A failed system call of the harness.
struct SystemError: Error, CustomStringConvertible {
    let description: String

    init(_ call: String, code: Int32 = errno) {
        description = "\(call): \(String(cString: strerror(code)))"
    }

    /// Returns the result of a system call, or throws its error if the result is negative.
    static func check(_ answer: Int32, _ call: String) throws -> Int32 {
        guard answer >= 0 else { throw SystemError(call) }
        return answer
    }
}
