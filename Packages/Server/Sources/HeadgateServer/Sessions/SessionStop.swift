extension Session {
    /// The reason why the session does not read, and the time since it stopped reading.
    struct Stop {
        let reason: SessionMachine.Stop
        let duration: Duration
    }
}
