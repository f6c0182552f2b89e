/// The parsers of foreign bytes. Each target accepts any input, and crashes if the parser fails on the input or returns
/// a wrong result.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// The parts of HTTP answers that Headgate parses itself.
    case answers
    /// The tallies and ranges in the frames of the log.
    case blobs
    /// The Swift client's parser for the daemon's lines.
    case client
    /// URLs, secrets, and their encodings.
    case endpoints
    /// The line framer.
    case framer
    /// Whole HTTP answers, through libcurl.
    case http
    /// The message decoder, and the use of a message by methods.
    case message
    /// The kernel's messages about the network.
    case netlink
    /// The records of stored events.
    case records
    /// Conditions on events, and paths into events.
    case rules
    /// The hours of a schedule, in any time zone.
    case schedules
    /// The frames of the log, and a start of the service with them.
    case segments
    /// The parser of settings.
    case settings
    /// JetStream's answers about messages.
    case streams
    /// Times and numbers as text.
    case times
    /// Environment variables.
    case variables
    /// The answers of workers.
    case workers
    /// Time zones, in compiled files and as POSIX strings.
    case zones

    /// Parses an input as a daemon would.
    /// - Returns: The result for libFuzzer: 0, or -1 for an input that is not worth keeping.
    public func run(_ input: UnsafeRawBufferPointer) -> Int32 {
        switch self {
        case .answers: AnswersTarget.run(input)
        case .blobs: BlobsTarget.run(input)
        case .client: ClientTarget.run(input)
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
        case .records: 384
        case .client, .message: 512
        case .settings: 1024
        case .segments: 4096
        }
    }

    /// True if C or C++ libraries parse the input, so that the address sanitizer is useful.
    public var isReadByC: Bool {
        switch self {
        case .client, .endpoints, .http, .message, .rules, .settings, .times, .workers: true
        case .answers, .blobs, .framer, .netlink, .records, .schedules, .segments, .streams, .variables, .zones: false
        }
    }
}
