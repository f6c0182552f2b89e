import HeadgateClient
import HeadgateData
import HeadgateTransport

/// One run of a command.
struct Invocation {
    /// What it was given.
    let arguments: Arguments
    /// Where it reads and writes.
    let terminal: Terminal

    /// The daemon's socket.
    var socketPath: String {
        arguments.value(.socket) ?? SocketPlace.usual
    }

    /// Words about barriers and dispatchers need to know the time.
    var clock: WallClock { .local }

    /// A connection for this run, which fails at once with nobody there, and waits so long for a daemon that restarts;
    /// nil is for ever.
    func connection(on loop: EventLoop, reconnectingFor patience: Duration?) -> ClientConnection {
        var options = ClientOptions()
        options.connectTimeout = .zero
        options.reconnectTimeout = patience
        let identity = ClientIdentity(name: "headgate", version: Version.current)
        return ClientConnection(to: socketPath, as: identity, options: options, on: loop)
    }

    /// Asks the daemon all questions at once, and waits for their answers.
    func ask(_ questions: [Question]) throws -> [DataObject] {
        try talk(count: questions.count) { connection, place, completion in
            let question = questions[place]
            connection.call(question.method, question.params, completion)
        }
    }

    /// Has an event tracked, and waits for the answer.
    func track(_ event: OutgoingEvent) throws -> DataObject {
        try talk(count: 1) { connection, _, completion in connection.track(event, completion) }[0]
    }

    /// Prints the daemon's answer as it came, if that is asked for, else in words.
    func show(_ answer: DataObject, else words: @autoclosure () throws -> String) throws {
        try terminal.write(arguments.has(.json) ? DataItem.object(answer).json + "\n" : words())
    }

    private func talk(
        count: Int, _ call: (ClientConnection, Int, @escaping ClientConnection.Completion) -> Void
    ) throws -> [DataObject] {
        let loop = try EventLoop()
        let connection = connection(on: loop, reconnectingFor: .seconds(5))
        var answers: [Int: Result<DataItem, any Error>] = [:]
        for place in 0..<count {
            call(connection, place) { result in
                answers[place] = result.map(\.item)
                if answers.count == count { loop.stop() }
            }
        }
        loop.run()
        return try (0..<count).map { place in
            guard case .object(let answer)? = try answers[place]?.get() else {
                throw ClientError.badAnswer("an answer that is no object")
            }
            return answer
        }
    }
}

/// A call of a method.
struct Question {
    let method: String
    var params: DataObject = [:]
}
