import Foundation
import HeadgateCore
import HeadgateCoreTesting
import Testing

@testable import HeadgateServer

@Suite("Event store on disk: what every store has to do")
struct StoreConformanceTests {
    @Test("Q1: a store does what every store has to", arguments: EventStoreConformance.checks, StoreKind.allCases)
    func conforms(_ check: EventStoreConformance.Check, _ kind: StoreKind) throws {
        let scene = StoreScene(kind, durability: .normal)
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
