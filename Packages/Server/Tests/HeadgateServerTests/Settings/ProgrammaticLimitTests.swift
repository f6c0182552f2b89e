import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("How much programs may set", .timeLimit(.minutes(5)))
struct ProgrammaticLimitTests {
    @Test(
        "X2: what config.set has added up to is bounded; what is refused changes nothing, and what is taken out makes room"
    )
    func bounded() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let text = DataItem.string(String(repeating: "x", count: 1_000_000))
            for number in 1...4 { try await client.call("config.set", ["patch": ["note\(number)": text]]) }
            let refusal = try await client.refusal("config.set", ["patch": ["note5": text]])
            #expect(refusal.reason == "invalid_settings")
            #expect(refusal.message.contains("no more than 4194304 bytes"))
            let layer = try await client.call("config.get", ["layer": "programmatic"])
            #expect(layer["note4"] == text && layer["note5"] == .null)
            try await client.call("config.set", ["patch": ["note1": .null, "note5": text]])
        }
    }
}
