/// The settings of a dispatcher of kind `worker`, beyond those that all kinds have.
struct WorkerSettings: Sendable, Equatable {
    /// The time that a worker may take to answer. After it the batch goes to another worker.
    var lease = Duration.seconds(30)
    /// The users who may subscribe, in addition to having the right to `serve`; nil for all who have it (Behaviour X1).
    var workers: AccessSettings.Grant?
}
