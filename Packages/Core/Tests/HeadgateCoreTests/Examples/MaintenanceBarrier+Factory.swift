import HeadgateCore
import HeadgateData

extension MaintenanceBarrier {
    final class Factory: BarrierFactory {
        private let site: String
        private let scopes: [BarrierScope]

        init(site: String, defaultScopes: [BarrierScope]) {
            self.site = site
            scopes = defaultScopes
        }

        func create(context: BarrierContext, configuration: DataObject) -> MaintenanceBarrier {
            MaintenanceBarrier(site: site, configuration: configuration)
        }

        func defaultScopes() -> [BarrierScope] {
            scopes
        }
    }
}
