extension Session {
    /// The reason why the session does not read, and since how long.
    struct Stop {
        let reason: SessionMachine.Stop
        let duration: Duration
    }
}
