// Package headgate is a client of Headgate, the local event-delivery daemon. It needs nothing but the standard library.
//
//	client := headgate.New("shop", "2.1", headgate.Options{})
//	defer client.Close()
//	receipt, err := client.Track(ctx, headgate.Event{Event: "signup", Data: map[string]any{"plan": "free"}})
//
// All calls of a client share one connection, which is made when it is first needed, and again whenever it is lost. Every
// event gets an id before it is sent, and is sent under this id until it is acknowledged: a restart of the daemon loses none
// and doubles none (Behaviour Q7). Calls wait for the daemon as long as their context allows: for 10 s if there was never a
// connection, and without an end after a lost one (Options). Close waits for acknowledgements; Go runs nothing at the end of main.
//
// Any number of goroutines may use a client.
package headgate
