package headgate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Batch is a group of events that a worker delivers.
type Batch struct {
	Dispatcher string `json:"dispatcher"`
	// Batch is the batch's id, which stays the same at every attempt.
	Batch   string           `json:"batch"`
	Attempt int              `json:"attempt"`
	Events  []DeliveredEvent `json:"events"`
}

// A DeliveredEvent is an event of a batch.
type DeliveredEvent struct {
	ID         string          `json:"id"`
	Seq        uint64          `json:"seq"`
	Event      string          `json:"event"`
	Time       time.Time       `json:"time"`
	ReceivedAt time.Time       `json:"received_at"`
	Key        string          `json:"key"`
	Attempt    int             `json:"attempt"`
	Context    json.RawMessage `json:"context"`
	Data       json.RawMessage `json:"data"`
}

// A Settlement is the outcome of an event at a worker.
type Settlement string

const (
	Delivered Settlement = "delivered"
	Retry     Settlement = "retry" // the dispatcher sends the event again after a backoff
	Dead      Settlement = "dead"  // the event becomes a dead letter
)

// A Handler delivers a batch. It returns settlements by the events' ids; events that it does not name are delivered. After an error
// all events are retried, and also after a handler that ends its goroutine (runtime.Goexit). The context ends when the connection
// is lost, because the batch then goes to another worker, and when the client is closed. A panic ends the program, as in any
// goroutine.
type Handler func(ctx context.Context, batch Batch) (map[string]Settlement, error)

// WorkerOptions are the options of a worker.
type WorkerOptions struct {
	// Credit is the number of batches that the worker takes at once; 0 is one. No more handlers run at the same time.
	Credit int
	// Limit is the greatest number of events in a batch; 0 is that of the dispatcher.
	Limit int
	// OnRefused is called with the reason when the daemon refuses the subscription on a later connection, once until it is
	// granted again. The client asks again after each BackoffCap, and logs it. It may call the client.
	OnRefused func(err error)
}

// A Subscription is a worker that takes batches of a dispatcher.
type Subscription struct {
	dispatcher string
	handler    Handler
	onRefused  func(error)
	running    chan struct{} // has room for as many handlers as may run at the same time
	workers    *workers
	call       *call
	done       chan struct{}
	err        error

	mutex     sync.Mutex
	ctx       context.Context // ends with the present connection
	cancel    context.CancelFunc
	isLeaving bool
}

// Subscribe delivers a worker dispatcher's batches (Behaviour K3), also on later connections, until the subscription or the
// client is closed. Each batch has a goroutine of its own. The context bounds the wait until the daemon has granted it.
func (c *Client) Subscribe(
	ctx context.Context, dispatcher string, handler Handler, options WorkerOptions,
) (*Subscription, error) {
	params := map[string]any{"id": dispatcher}
	if options.Credit > 1 {
		params["credit"] = options.Credit
	}
	if options.Limit > 0 {
		params["limit"] = options.Limit
	}
	subscription := &Subscription{
		dispatcher: dispatcher, handler: handler, onRefused: options.OnRefused, workers: &c.workers,
		call: newCall("dispatcher.subscribe", params, true), done: make(chan struct{}),
		running: make(chan struct{}, 1),
	}
	if options.Credit > 1 {
		subscription.running = make(chan struct{}, options.Credit)
	}
	subscription.ctx, subscription.cancel = context.WithCancel(context.Background())
	subscription.call.standing = &standing{
		interrupt: subscription.interrupt, refused: subscription.refuse, ended: subscription.end,
		leave: subscription.leaving,
	}
	if !c.workers.add(subscription) {
		return nil, local(Misuse, "%s is already served by this client", dispatcher)
	}
	if _, err := c.call(ctx, subscription.call); err != nil {
		c.workers.remove(subscription)
		return nil, err
	}
	return subscription, nil
}

// Done returns a channel that is closed when the subscription has ended: it or its client was closed, or the client no longer
// reconnects.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Err returns why the subscription has ended; nil if it was closed, or has not ended.
func (s *Subscription) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close takes no more batches, and returns when the present batches are answered or the client's CloseTimeout is over.
func (s *Subscription) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.workers.connection.options.CloseTimeout)
	defer cancel()
	return s.leave(ctx)
}

func (s *Subscription) leave(ctx context.Context) error {
	if !s.workers.has(s) {
		return nil
	}
	s.mutex.Lock()
	isSecond := s.isLeaving
	s.isLeaving = true
	s.mutex.Unlock()
	if isSecond {
		select {
		case <-s.done:
			return nil
		case <-ctx.Done():
			return ended(ctx, nil)
		}
	}
	defer s.workers.remove(s)
	isAsked, isGranted := s.workers.connection.withdraw(s.call)
	if !isAsked && !isGranted {
		return nil
	}
	client := &Client{connection: s.workers.connection}
	_, err := client.call(ctx, s.leaving())
	// A lost connection has ended the subscription.
	if reason := ReasonOf(err); reason == Disconnected || reason == ShuttingDown {
		return nil
	}
	// A request for the subscription that was not answered yet failed with the same error.
	var refused *Error
	if !isGranted && errors.As(err, &refused) && refused.Code != 0 {
		return nil
	}
	return err
}

// leaving makes the call that ends the subscription at the daemon.
func (s *Subscription) leaving() *call {
	made := newCall("dispatcher.unsubscribe", map[string]string{"id": s.dispatcher}, false)
	made.bound = true
	return made
}

// interrupt ends the context of the handlers that run: the daemon no longer waits for their answers.
func (s *Subscription) interrupt() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.cancel()
	s.ctx, s.cancel = context.WithCancel(context.Background())
}

// refuse reports that the daemon refuses the subscription on a later connection. The client asks again.
func (s *Subscription) refuse(err *Error) {
	s.workers.connection.log("headgate: the daemon refuses the worker of %s, and the client repeats the request: %s", s.dispatcher, err.Message)
	if s.onRefused != nil {
		s.workers.connection.hooks.add(func() { s.onRefused(err) })
	}
}

// end notes that the client no longer connects, or is closed.
func (s *Subscription) end(err *Error) {
	if err.Reason != Closed {
		s.err = err
	}
	s.workers.remove(s)
}

func (s *Subscription) context() context.Context {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.ctx
}

// workers are a client's subscriptions, by their dispatchers.
type workers struct {
	connection *connection
	mutex      sync.Mutex
	table      map[string]*Subscription
}

func (w *workers) add(subscription *Subscription) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.table[subscription.dispatcher] != nil {
		return false
	}
	w.table[subscription.dispatcher] = subscription
	return true
}

func (w *workers) has(subscription *Subscription) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.table[subscription.dispatcher] == subscription
}

func (w *workers) remove(subscription *Subscription) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.table[subscription.dispatcher] == subscription {
		delete(w.table, subscription.dispatcher)
		subscription.interrupt()
		close(subscription.done)
	}
}

// leave ends all subscriptions at the daemon.
func (w *workers) leave(ctx context.Context) {
	w.mutex.Lock()
	var leaving sync.WaitGroup
	for _, subscription := range w.table {
		leaving.Add(1)
		go func(subscription *Subscription) {
			defer leaving.Done()
			_ = subscription.leave(ctx)
		}(subscription)
	}
	w.mutex.Unlock()
	leaving.Wait()
}

// take handles a request of the daemon. The caller holds the connection's mutex.
func (w *workers) take(present *link, method string, id, params json.RawMessage) {
	dispatcher, refusal := w.judge(method, params)
	if refusal != nil {
		present.write(answer(id, "error", refusal))
		return
	}
	w.mutex.Lock()
	subscription := w.table[dispatcher]
	w.mutex.Unlock()
	if subscription == nil {
		present.write(answer(id, "error", map[string]any{
			"code": -32000, "message": "this client does not serve it", "data": map[string]string{"reason": "not_found"},
		}))
		return
	}
	ctx := subscription.context()
	present.owed++
	go func() {
		// The answer of a handler that ends its goroutine: every end of a handler is an answer.
		line := failed(id, "the handler ended its goroutine")
		defer func() { w.connection.answer(present, id, line) }()
		// A handler of a lost connection may still run. This one waits for it, and does not begin if its own connection is lost.
		select {
		case subscription.running <- struct{}{}:
			defer func() { <-subscription.running }()
		case <-ctx.Done():
			return
		}
		if ctx.Err() == nil {
			line = subscription.handle(ctx, id, params)
		}
	}()
}

// judge returns the dispatcher of a batch, or a refusal.
func (w *workers) judge(method string, params json.RawMessage) (string, any) {
	if method != "dispatch" {
		return "", map[string]any{"code": -32601, "message": "there is no method " + method}
	}
	var dispatcher string
	members, _ := object(params)
	if !isString(members["dispatcher"], &dispatcher) {
		return "", map[string]any{
			"code": -32602, "message": "dispatcher is missing", "data": map[string]string{"path": "dispatcher"},
		}
	}
	return dispatcher, nil
}

func (s *Subscription) handle(ctx context.Context, id, params json.RawMessage) []byte {
	var batch Batch
	err := json.Unmarshal(params, &batch)
	if err != nil {
		s.workers.connection.options.Logf("headgate: a batch of %s that cannot be read: %s", s.dispatcher, err)
	}
	var settlements map[string]Settlement
	if err == nil {
		settlements, err = s.handler(ctx, batch)
	}
	for _, settlement := range settlements {
		if settlement != Delivered && settlement != Retry && settlement != Dead {
			err = fmt.Errorf("not a settlement: %s", settlement)
		}
	}
	if err != nil {
		return failed(id, err.Error())
	}
	if len(settlements) == 0 {
		return answer(id, "result", struct{}{})
	}
	return answer(id, "result", map[string]any{"outcomes": outcomes(params, settlements)})
}

// outcomes returns the settlements under the ids as the batch spells them: Go strings cannot hold a lone surrogate.
func outcomes(params json.RawMessage, settlements map[string]Settlement) any {
	if !bytes.Contains(params, []byte(`\u`)) {
		return settlements
	}
	var batch struct {
		Events []struct{ ID json.RawMessage }
	}
	_ = json.Unmarshal(params, &batch) // the batch was decoded before
	left := map[string]Settlement{}
	for id, settlement := range settlements {
		left[id] = settlement
	}
	var members [][]byte
	add := func(id json.RawMessage, settlement Settlement) {
		members = append(members, append(append(append([]byte(nil), id...), ':'), strconv.Quote(string(settlement))...))
	}
	for _, event := range batch.Events {
		var id string
		if json.Unmarshal(event.ID, &id) != nil {
			continue
		}
		if settlement, isNamed := settlements[id]; isNamed {
			add(event.ID, settlement)
			delete(left, id)
		}
	}
	for id, settlement := range left {
		name, _ := encode(id) // a string can be encoded
		add(bytes.TrimSpace(name), settlement)
	}
	return json.RawMessage("{" + string(bytes.Join(members, []byte(","))) + "}")
}

const longestMessage = 1_000

// failed returns the answer for a handler that failed.
func failed(id json.RawMessage, message string) []byte {
	if len(message) > longestMessage {
		message = strings.ToValidUTF8(message[:longestMessage], "")
	}
	return answer(id, "error", map[string]any{"code": -32603, "message": message})
}

func answer(id json.RawMessage, member string, value any) []byte {
	line, _ := encode(map[string]any{"jsonrpc": "2.0", "id": id, member: value}) // strings, numbers and a raw id
	return line
}
