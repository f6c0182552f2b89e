import HeadgateData
import Testing

@testable import HeadgateCommands

@Suite struct EventDataTests {
    @Test(
        "P6: a value that is JSON is taken as that, with all its digits; the rest is text",
        arguments: [
            ("n=1.10", #"{"n":1.10}"#), ("n=-3e400", #"{"n":-3e400}"#), ("b=true", #"{"b":true}"#),
            ("b=null", #"{"b":null}"#), (#"o={"a":[1]}"#, #"{"o":{"a":[1]}}"#), ("t=pro", #"{"t":"pro"}"#),
            ("t=", #"{"t":""}"#), ("t=a=b c", #"{"t":"a=b c"}"#), ("t=007", #"{"t":"007"}"#),
            (#"t="5""#, #"{"t":"5"}"#), ("t={broken", #"{"t":"{broken"}"#),
        ])
    func values(pair: String, json: String) throws {
        #expect(DataItem.object(try EventData.parse([pair])).json == json)
    }

    @Test("Pairs keep their order; of several with one key the last counts")
    func order() throws {
        let data = try EventData.parse(["b=1", "a=2", "b=3"])
        #expect(DataItem.object(data).json == #"{"b":3,"a":2}"#)
    }

    @Test("What is no pair is wrong usage", arguments: ["plan", "=x", ""])
    func noPair(text: String) {
        #expect(throws: UsageError(message: "send: \(text) is not KEY=VALUE", command: "send")) {
            try EventData.parse([text])
        }
    }
}
