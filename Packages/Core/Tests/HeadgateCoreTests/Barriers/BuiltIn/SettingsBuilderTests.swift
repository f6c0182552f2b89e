import HeadgateCore
import HeadgateData
import Testing

@Suite("Builders of barrier settings")
struct SettingsBuilderTests {
    @Test("S4: builders create entries as in settings files")
    func entries() {
        #expect(BatchingBarrierSettingsBuilder().build() == ["barrier_id": "BatchingBarrier"])
        #expect(
            BatchingBarrierSettingsBuilder().setScopes([.all, .dispatcher(id: "collect")]).setBatchSize(10)
                .setMaxWait(.seconds(5)).build()
                == [
                    "barrier_id": "BatchingBarrier", "scopes": ["all", "collect"],
                    "configuration": ["batch_size": 10, "max_wait_ms": 5000],
                ])
        #expect(
            ConnectivityBarrierSettingsBuilder().setWifiOnly(true).setScopes([]).build()
                == ["barrier_id": "ConnectivityBarrier", "scopes": [], "configuration": ["wifi_only": true]])
        #expect(
            BarrierSettingsBuilder(id: "night", kind: ScheduleBarrier.id).set("start_hour", 22).set("end_hour", 6)
                .set("start_hour", nil).setOnError(.closed).build()
                == [
                    "barrier_id": "night", "kind": "ScheduleBarrier", "on_error": "closed",
                    "configuration": ["end_hour": 6],
                ])
    }

    @Test("B22: the barrier reads what the builder writes")
    func readBack() throws {
        let entry = BatchingBarrierSettingsBuilder().setBatchSize(7).setMaxWait(.milliseconds(250)).build()
        let settings = try BatchingSettings(try #require(entry.get(key: "configuration", as: DataObject.self)))
        #expect(settings.batchSize == 7)
        #expect(settings.maxWait == .milliseconds(250))
    }
}
