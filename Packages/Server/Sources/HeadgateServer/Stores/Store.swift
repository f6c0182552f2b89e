/// Programs that embed the server name the store's durability and kinds, as settings do.
@_exported import HeadgateStore
