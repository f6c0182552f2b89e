/// What a dispatcher of kind `worker` can be told beyond what all can (Behaviour K3).
struct WorkerSettings: Sendable, Equatable {
    /// How long a worker may take to answer before its batch is given to another.
    var lease = Duration.seconds(30)
}
