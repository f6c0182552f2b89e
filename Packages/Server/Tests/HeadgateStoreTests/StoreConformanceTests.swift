import Foundation
import HeadgateCore
import HeadgateCoreTesting
import Testing

@testable import HeadgateStore

@Suite("Event store on disk: the tests of every store")
struct StoreConformanceTests {
    @Test("Q1: the event store on disk passes the tests of every store", arguments: EventStoreConformance.checks)
    func conforms(_ check: EventStoreConformance.Check) throws {
        try run(check, StoreScene(durability: .normal))
    }

    @Test(
        "Q1, Q11: a log that packs whatever it can passes the tests of every store",
        arguments: EventStoreConformance.checks)
    func packs(_ check: EventStoreConformance.Check) throws {
        let scene = StoreScene(durability: .normal)
        scene.options.leastPacked = 1
        try run(check, scene)
    }

    private func run(_ check: EventStoreConformance.Check, _ scene: StoreScene) throws {
        (scene.options.segmentSize, scene.options.blockSize, scene.options.mostUnfiledIDBytes) = (
            64 << 10, 4 << 10, 256
        )
        try check.run(
            StoreBench(
                open: {
                    let state = try scene.open()
                    return (scene.store, state)
                }, work: scene.work,
                clear: { try FileManager.default.removeItem(atPath: scene.directory) }))
    }
}
