/// What a worker is to do.
struct WorkOrder {
    /// The dispatcher whose batches it takes.
    let dispatcher: String
    /// The program and its arguments.
    let command: [String]
    /// How many batches it takes at once.
    let credit: Int
    /// The most events of a batch; nil is as many as the dispatcher sends.
    let limit: Int?
}
