import HeadgateCore

/// A dispatcher as the configuration describes it.
struct ConfiguredDispatcher: Sendable, Equatable {
    /// What all kinds have.
    var common: DispatcherSettings
    /// What its kind has.
    var kind: DispatcherKindSettings

    /// The dispatcher's name.
    var id: String { common.id }
}

/// What one kind of dispatcher is told beyond what all are.
enum DispatcherKindSettings: Sendable, Equatable {
    /// It posts to a server (Behaviour K1).
    case http(HTTPSettings)
    /// It writes to a file (Behaviour K2).
    case file(FileSettings)
    /// Local processes take its batches over the socket (Behaviour K3).
    case worker(WorkerSettings)
    /// It publishes to a NATS cluster (Behaviour K4).
    case nats(NATSSettings)
    /// It does what the program that brings it says (Behaviour K5).
    case own(OwnKindSettings)

    /// The kinds' names, as `kind` takes them.
    static let names = ["http", "file", "worker", "nats"]

    /// The kind's name.
    var name: String {
        switch self {
        case .http: "http"
        case .file: "file"
        case .worker: "worker"
        case .nats: "nats"
        case .own(let own): own.kind
        }
    }
}
