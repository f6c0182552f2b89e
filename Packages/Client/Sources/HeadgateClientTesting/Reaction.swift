import HeadgateData
import HeadgateWire

/// What a ``ScriptedDaemon`` does with a request.
public enum Reaction: Sendable {
    /// Does what is asked and answers it.
    case answer
    /// Does what is asked, and answers when `release` says so.
    case hold
    /// Does what is asked, and closes the connection in place of an answer.
    case doAndBreak
    /// Does what is asked, and closes the connection in the middle of the answer.
    case breakInAnswer
    /// Closes the connection and does nothing.
    case breakOff
    /// Answers with an error and does nothing.
    case refuse(RPCError)
    /// Does nothing, and writes this line.
    case write(String)
    /// Does nothing, and never answers.
    case ignore
}
