import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Sections of settings")
struct SettingsSectionTests {
    @Test("Q4: an empty configuration has the documented defaults")
    func defaults() throws {
        let settings = try #require(try SettingsReading.of("{}").settings)
        #expect(settings == Settings())
        #expect(settings.durability == .full)
        #expect(settings.store.maxEvents == 1_000_000)
        #expect(settings.store.maxBytes == 1_073_741_824)
        #expect(settings.store.maxAge == .seconds(2_592_000))
        #expect(settings.store.overflow == .reject)
        #expect(settings.store.dedupeWindow == .seconds(86_400))
        #expect(settings.store.dedupeIDs == 500_000)
        #expect(settings.store.orphanRetention == .seconds(604_800))
        #expect(settings.shutdownTimeout == .seconds(5))
    }

    @Test("X2: the limits have the documented names and defaults")
    func limits() {
        let object: DataObject = [
            "max_line_bytes": 1_048_576, "max_depth": 64, "max_connections": 4096, "max_connections_per_uid": 1024,
            "max_unanswered": 16_384, "max_unanswered_bytes": 16_777_216, "max_output_bytes": 4_194_304,
            "slow_reader_timeout_ms": 30_000,
        ]
        #expect(Limits().object == object)
    }

    @Test("The values of every section are read")
    func sections() throws {
        let settings = try #require(try SettingsReading.of(Self.full).settings)
        #expect(settings.socket == "/run/h.sock")
        #expect(settings.dataDirectory == "/data")
        #expect(settings.durability == .memory)
        #expect(settings.access.observe == AccessSettings.Grant(uids: [1000], gids: [50, 51]))
        #expect(settings.access.control == AccessSettings.Grant(uids: [0]))
        #expect(settings.access.serve == AccessSettings.Grant(gids: [7]))
        #expect(settings.shutdownTimeout == .zero)
        #expect(settings.limits.slowReaderTimeout == .milliseconds(18))
        #expect(settings.store.overflow == .dropOldest)
    }

    @Test("Sections that are written as JSON and read again have the same values")
    func roundTrip() throws {
        let given = try SettingsText.parse(Array(Self.full.utf8))
        let settings = try #require(Settings.read(given).settings)
        for (key, section) in settings.sections { #expect(given[key] == section, "\(key)") }
        #expect(Settings.read(Settings().sections).settings == Settings())
    }

    /// Settings in which every value differs from its default.
    static let full = """
        {
          "socket": "/run/h.sock", "data_dir": "/data", "durability": "memory", "lenient": true, "shutdown_timeout_ms": 0,
          "limits": {"max_line_bytes": 1025, "max_depth": 12, "max_connections": 13, "max_connections_per_uid": 14,
                     "max_unanswered": 15, "max_unanswered_bytes": 16, "max_output_bytes": 17,
                     "slow_reader_timeout_ms": 18},
          "access": {"observe": {"uids": [1000], "gids": [50, 51], "users": [], "groups": []},
                     "read": {"uids": [8], "gids": [], "users": ["root"], "groups": []},
                     "control": {"uids": [0], "gids": [], "users": [], "groups": []},
                     "serve": {"uids": [], "gids": [7], "users": [], "groups": []},
                     "configure": {"uids": [9], "gids": [], "users": [], "groups": []},
                     "shared_namespaces": {"shop": {"uids": [5], "gids": [], "users": [], "groups": []}}},
          "store": {"kind": "sqlite", "max_events": 1, "max_bytes": 2, "max_age_s": 3, "overflow": "drop_oldest",
                    "dedupe_window_s": 0, "dedupe_ids": 4, "orphan_retention_s": 5,
                    "max_dead_letters": 6, "max_dead_letter_bytes": 7, "dead_letters_full": "drop_oldest"},
          "trace": {"remember": 6}, "log_format": "json",
          "flush_on": {"start": false, "connected": false, "background": false, "foreground": false, "exiting": false, "shutdown": false},
          "collectors": {"peer": false, "client": false, "host": false, "network": false},
          "network": {"interface_kinds": {"eth0": "wifi", "wwan*": "cellular"}, "require_default_route": true,
                      "probe": {"url": "http://probe/", "interval_ms": 20, "timeout_ms": 21}}
        }
        """
}
