import HeadgateClient
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// Tells the news of what is watched, until the input ends.
struct Watching {
    private let words: ProgramWords
    private let topics: [WatchTopic]

    init(_ words: ProgramWords) throws {
        self.words = words
        topics = try words.operands.map { name in
            let parts = name.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2, parts[0] == "watch", let topic = WatchTopic(rawValue: parts[1]) else {
                throw UsageError("\(name): this client serves nothing")
            }
            return topic
        }
    }

    func run() throws {
        let loop = try EventLoop.onNewThread(named: "watching")
        let (path, identity, options, topics) = (words.socketPath, words.identity, words.options, topics)
        loop.submit {
            let connection = ClientConnection(to: path, as: identity, options: options, on: loop)
            // The watch keeps the connection.
            connection.watch(topics) { [connection] news in withExtendedLifetime(connection) { Self.tell(news) } }
        }
        Output.put("ready")
        while readLine() != nil {}
    }

    private static func tell(_ news: WatchNews) {
        switch news {
        case .began: Output.put(["news": "began", "change": [:]])
        case .changed(let change): Output.put(["news": "changed", "change": change.item])
        case .interrupted: Output.put(["news": "interrupted", "change": [:]])
        case .ended: Output.put(["news": "ended", "change": [:]])
        }
    }
}
