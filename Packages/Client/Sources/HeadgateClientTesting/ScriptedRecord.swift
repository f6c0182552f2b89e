import HeadgateData

/// What has happened to a ``ScriptedDaemon``.
public struct ScriptedRecord: Sendable {
    /// The ids of the events that it stored, each once, in their order.
    public internal(set) var stored: [String] = []
    /// How many events came that it had stored already.
    public internal(set) var duplicates = 0
    /// The requests that it got, without `hello`.
    public internal(set) var requests: [ScriptedRequest] = []
    /// The params of each `hello`.
    public internal(set) var greetings: [DataObject] = []
    /// How many connections there have been.
    public internal(set) var connections = 0
    /// How many connections have ended, not by `kill`.
    public internal(set) var departures = 0
    /// The errors that it got as answers to what `tellAll` asked: id and message.
    public internal(set) var answers: [String] = []
    /// The results that it got as answers to what `tellAll` asked: id and JSON.
    public internal(set) var results: [String] = []
    /// How many answers it holds back.
    public internal(set) var held = 0
}
