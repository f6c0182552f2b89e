import HeadgateCore
import HeadgateData
import HeadgateEncryption

@testable import HeadgateServer
@testable import HeadgateStore

extension Service {
    /// Starts a daemon whose log is on a simulated disk.
    /// - Parameter kind: The kind of its dispatchers.
    static func simulated(
        _ settings: DataObject, environment: [String: String] = [:], _ kind: some DispatcherKind,
        _ executor: SimulatedStoreExecutor, _ disk: SimulatedDisk, _ scheduler: SimulatedScheduler, _ record: Record
    ) throws -> Service {
        let door = ClockDoor(scheduler)
        let opening: StoreOpening = { (ring) throws(StoreFault) in (executor, try executor.open(ring: ring)) }
        let options = DaemonOptions(configuration: nil, socket: "/nowhere/socket", dataDirectory: "/nowhere")
        var configuration = ServerConfiguration(options: options, environment: environment, userID: 0)
        configuration.settings = settings
        configuration.makeStore = { _ in DiskEventStore(opening: opening) { door.scheduler.submit($0) } }
        configuration.settingsDisk = disk
        configuration.addDispatcherKind(kind)
        let service = try Service(
            scheduler: scheduler, loop: nil, configuration: configuration, loaded: try configuration.load(),
            builtAt: SimulatedScheduler.builtAt, chance: { record.fraction() })
        try service.listen()
        return service
    }
}

extension SimulatedStoreExecutor {
    /// Creates the executor of a log with small blocks.
    convenience init(
        segmentSize: Int, leastPacked: Int = 1 << 20, keyring: Keyring? = nil, _ disk: SimulatedDisk,
        _ scheduler: SimulatedScheduler, _ record: Record
    ) {
        var options = StoreOptions(directory: "/data", durability: .full)
        (options.disk, options.keyring, options.leastPacked) = (disk, keyring, leastPacked)
        (options.segmentSize, options.leastSegmentSize) = (segmentSize, segmentSize)
        (options.blockSize, options.mostUnfiledIDBytes) = (512, 512)
        let door = ClockDoor(scheduler)
        options.wall = { door.scheduler.wall }
        self.init(options: options, disk, scheduler, record)
    }
}
