/// What reads foreign bytes. Each takes any input, and stops the program at one that it cannot take, or at one of which it
/// makes something wrong.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// HTTP answers, as far as Headgate itself reads them.
    case answers
    /// The columns of the store's rows.
    case blobs
    /// The Swift client's reading of the daemon's lines.
    case client
    /// The rows of the store's database, and a start on them.
    case database
    /// URLs, secrets, and the encodings that they come in.
    case endpoints
    /// The line framer.
    case framer
    /// Whole HTTP answers, through libcurl.
    case http
    /// The message decoder, and what methods do with a message.
    case message
    /// What the kernel tells of the network.
    case netlink
    /// The frames of stored events.
    case records
    /// Conditions on events, and paths into them.
    case rules
    /// The hours of a schedule, by the clocks of any zone.
    case schedules
    /// The frames of the log, and a start on them.
    case segments
    /// The loader of settings.
    case settings
    /// What JetStream says of messages.
    case streams
    /// Times and numbers in words.
    case times
    /// What the environment says.
    case variables
    /// Workers' answers.
    case workers
    /// Time zones, compiled and in words.
    case zones

    /// Reads an input as a daemon would.
    /// - Returns: what libFuzzer wants to know: 0, or -1 for an input that is not worth keeping.
    public func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        switch self {
        case .answers: AnswersTarget.run(input)
        case .blobs: BlobsTarget.run(input)
        case .client: ClientTarget.run(input)
        case .database: DatabaseTarget.run(input)
        case .endpoints: EndpointsTarget.run(input)
        case .framer: FramerTarget.run(input)
        case .http: HTTPTarget.run(input)
        case .message: MessageTarget.run(input)
        case .netlink: NetlinkTarget.run(input)
        case .records: RecordsTarget.run(input)
        case .rules: RulesTarget.run(input)
        case .schedules: SchedulesTarget.run(input)
        case .segments: SegmentsTarget.run(input)
        case .settings: SettingsTarget.run(input)
        case .streams: StreamsTarget.run(input)
        case .times: TimesTarget.run(input)
        case .variables: VariablesTarget.run(input)
        case .workers: WorkersTarget.run(input)
        case .zones: ZonesTarget.run(input)
        }
    }

    /// The longest input that is worth trying.
    public var longestInput: Int {
        switch self {
        case .schedules: 64
        case .times: 96
        case .endpoints, .framer, .streams: 128
        case .answers, .rules, .variables, .workers: 192
        case .blobs, .http, .netlink, .zones: 256
        case .database, .records: 384
        case .client, .message: 512
        case .settings: 1024
        case .segments: 4096
        }
    }

    /// Whether libraries of C or C++ read it, so that the address sanitizer has something to watch.
    public var isReadByC: Bool {
        switch self {
        case .client, .database, .endpoints, .http, .message, .rules, .settings, .times, .workers: true
        case .answers, .blobs, .framer, .netlink, .records, .schedules, .segments, .streams, .variables, .zones: false
        }
    }
}
