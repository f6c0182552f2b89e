import Foundation

/// All that one test has around it: a folder, daemons, collectors. What it made is gone when the test ends.
final class Scene {
    let directory: TemporaryDirectory
    private var daemons: [Daemon] = []
    private var collectors: [Collector] = []
    private var nodes: [NATSNode] = []
    private var others: [AnyObject] = []

    fileprivate init() throws {
        directory = try TemporaryDirectory()
    }

    /// A running collector; with `listening: false` its port refuses connections until `listen()`.
    func collector(at place: CollectorPlace = CollectorPlace(), listening: Bool = true) throws -> Collector {
        let collector = try Collector(at: place)
        collectors.append(collector)
        if listening { try collector.listen() }
        return collector
    }

    /// A daemon with that configuration, ready for clients.
    func daemon(_ configuration: JSON) async throws -> Daemon {
        let daemon = idleDaemon()
        try daemon.configure(configuration)
        try await daemon.start()
        return daemon
    }

    /// A daemon that sends everything to one collector as its dispatcher `collect`.
    func daemon(sendingTo collector: Collector, _ settings: JSON = [:], top: JSON = [:]) async throws -> Daemon {
        try await daemon(top.merging(["dispatchers": ["collect": collector.dispatcher(settings)]]))
    }

    /// A daemon that has neither configuration nor process yet.
    func idleDaemon() -> Daemon {
        let daemon = Daemon(folder: directory.path("d\(daemons.count)"))
        daemons.append(daemon)
        return daemon
    }

    /// A running NATS server of its own, with further lines of its configuration.
    func natsNode(_ configuration: [String] = []) async throws -> NATSNode {
        let node = try idleNATSNode()
        node.configuration = configuration
        try await node.start()
        return node
    }

    /// Running NATS servers that are one cluster.
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

    /// Keeps something until the test ends.
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

/// Runs a test in a scene of its own. Only so many go on at once: each has processes of its own.
/// - Parameter waitsLong: whether it takes many seconds and mostly waits for others, as for the election of a cluster. Such
///   tests begin at once, and take no place from others: else all would end with waiting for them.
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

/// Lets so many scenes go on at once.
private actor SceneLimit {
    static let shared = SceneLimit(places: 14)
    private var places: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(places: Int) {
        self.places = places
    }

    func enter() async {
        guard places == 0 else {
            places -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func leave() {
        guard waiting.isEmpty else { return waiting.removeFirst().resume() }
        places += 1
    }
}

/// A folder of a test's own, with a path short enough for Unix sockets (107 bytes).
struct TemporaryDirectory {
    let path: String

    init() throws {
        let usual = FileManager.default.temporaryDirectory.path
        let parent = usual.utf8.count > 60 ? "/tmp" : usual
        var template = Array("\(parent)/hg-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError("mkdtemp in \(parent)") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// A path inside.
    func path(_ name: String) -> String { path + "/" + name }

    /// Writes a file inside and gives back its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
        return path(name)
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// A system call of the harness that failed.
struct SystemError: Error, CustomStringConvertible {
    let description: String

    init(_ call: String, code: Int32 = errno) {
        description = "\(call): \(String(cString: strerror(code)))"
    }

    /// The call's answer, or its error when it is negative.
    static func check(_ answer: Int32, _ call: String) throws -> Int32 {
        guard answer >= 0 else { throw SystemError(call) }
        return answer
    }
}
