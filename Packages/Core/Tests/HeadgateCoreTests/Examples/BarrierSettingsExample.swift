import HeadgateCore
import HeadgateData

enum BarrierSettingsExample {
    static func addBarriers(to gate: Headgate) throws {
        try gate.barriers.add(Barriers.batching(defaultScopes: [.all]))
        try gate.barriers.add(Barriers.connectivity(defaultScopes: [.dispatcher(id: "collect")]))
        try gate.barriers.add(MaintenanceBarrier.Factory(site: "till-7", defaultScopes: [.dispatcher(id: "archive")]))
    }

    static let entries: DataObject = [
        "BatchingBarrier": .object(
            BatchingBarrierSettingsBuilder().setScopes([.dispatcher(id: "collect")])
                .setBatchSize(10).setMaxWait(.seconds(5)).build()),
        "ConnectivityBarrier": .object(
            ConnectivityBarrierSettingsBuilder().setScopes([.all]).setWifiOnly(true).build()),
    ]
}
