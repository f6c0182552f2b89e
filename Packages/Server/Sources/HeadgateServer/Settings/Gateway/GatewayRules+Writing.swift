import HeadgateCore
import HeadgateData

extension GatewayRules.Rule {
    /// The rule as settings say it.
    var setting: DataItem {
        switch self {
        case .exempt: "exempt"
        case .barrier(let barrier): .object(barrier.setting)
        }
    }
}

extension ActivationBarrier {
    fileprivate var setting: DataObject {
        var setting: DataObject = [
            "board": .string(board), "option": .string(option.rawValue), "scope": .string(scope.rawValue),
            "timeout_ms": .number(DataNumber(Int(timeout.wholeMilliseconds))),
            "on_timeout": .string(onTimeout.rawValue),
        ]
        if let sticky { setting["sticky_ms"] = .number(DataNumber(Int(sticky.wholeMilliseconds))) }
        return setting
    }
}
