import HeadgateData

/// Writes a connectivity barrier's entry of the settings (Behaviour B20).
public final class ConnectivityBarrierSettingsBuilder: BarrierSettingsBuilder {
    /// - Parameter id: the barrier's name, where there is to be more than one.
    public init(id: String = ConnectivityBarrier.id) {
        super.init(id: id, kind: ConnectivityBarrier.id)
    }

    /// Sets whether only Wi-Fi and Ethernet will do.
    @discardableResult
    public func setWifiOnly(_ wifiOnly: Bool) -> Self {
        set("wifi_only", .bool(wifiOnly))
    }
}
