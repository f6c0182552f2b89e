/// A waiter for a store operation. It is notified with nil, or with the fault.
struct StoreWaiter {
    let notify: (StoreFault?) -> Void
}

extension [StoreWaiter] {
    /// Notifies all waiters in order.
    func notify(_ fault: StoreFault?) {
        for waiter in self { waiter.notify(fault) }
    }
}
