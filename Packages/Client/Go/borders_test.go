package headgate

// Tests of the client's edge cases: an absent daemon, the end of the program, hooks that call the client, handlers that end in every
// way, unusual values.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines returns a channel of the lines that a client logs.
func lines(options *Options) chan string {
	logged := make(chan string, 100)
	options.Logf = func(format string, arguments ...any) { logged <- fmt.Sprintf(format, arguments...) }
	return logged
}

func states(options *Options) chan State {
	told := make(chan State, 100)
	options.OnState = func(state State, err error) {
		if (err != nil) != (state == StateDisconnected) {
			panic("an error belongs to StateDisconnected, and to no other")
		}
		told <- state
	}
	return told
}

func TestPermanentFaults(t *testing.T) {
	folder := t.TempDir()
	succeed(t, os.WriteFile(filepath.Join(folder, "file"), nil, 0o600))
	succeed(t, os.Symlink(filepath.Join(folder, "loop"), filepath.Join(folder, "loop")))
	for _, path := range []string{strings.Repeat("long", 40), "file/d.sock", "loop/d.sock", "a\x00b"} {
		options := Options{SocketPath: filepath.Join(folder, path), ConnectTimeout: Forever}
		logged, told := lines(&options), states(&options)
		client := New("test", "", options)
		for n := 0; n < 2; n++ {
			_, err := client.Track(background, Event{Event: "x"})
			expect(t, CannotConnect, ReasonOf(err))
		}
		succeed(t, client.Close())
		expect(t, true, strings.Contains(<-logged, "cannot connect to"))
		expect(t, 0, len(logged))
		expect(t, StateDisconnected, <-told)
		expect(t, StateClosed, <-told)
	}
}

func TestStatesAreReported(t *testing.T) {
	options := Options{}
	logged, told := lines(&options), states(&options)
	daemon, client := pair(t, options)
	ping := func() {
		end := inBackground(func() (any, error) { return client.ping(background) })
		connection := daemon.greet()
		connection.answer(connection.request("ping"), map[string]any{})
		_, err := end()
		succeed(t, err)
		connection.stream.Close()
	}
	ping()
	expect(t, StateConnected, <-told)
	expect(t, StateDisconnected, <-told)
	daemon.listener.Close()
	waiting := inBackground(func() (any, error) { return client.ping(background) })
	expect(t, true, strings.Contains(<-logged, "no such socket"))
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err := client.ping(short)
	expect(t, CannotConnect, ReasonOf(err))
	daemon.listener, err = net.Listen("unix", daemon.path)
	succeed(t, err)
	connection := daemon.greet()
	connection.answer(connection.request("ping"), map[string]any{})
	_, err = waiting()
	succeed(t, err)
	expect(t, StateConnected, <-told)
	expect(t, 0, len(logged))
}

func TestWaitForTheFirstConnectionIsLimited(t *testing.T) {
	expect(t, 10*time.Second, Options{}.filled().ConnectTimeout)
	options := Options{SocketPath: filepath.Join(t.TempDir(), "d.sock"), ConnectTimeout: time.Millisecond}
	lines(&options)
	client := New("test", "", options)
	_, err := client.ping(background)
	expect(t, CannotConnect, ReasonOf(err))
	succeed(t, client.Close())
}

func TestMissingRoomDiffersFromMissingAnswers(t *testing.T) {
	options := Options{SocketPath: filepath.Join(t.TempDir(), "d.sock"), MaxUnanswered: 1, CloseTimeout: time.Millisecond}
	logged := lines(&options)
	client := New("test", "", options)
	_, err := client.TryTrack(Event{Event: "x"})
	succeed(t, err)
	<-logged
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err = client.Track(short, Event{Event: "y"})
	expect(t, BufferFull, ReasonOf(err))
	expect(t, true, errors.Is(err, context.DeadlineExceeded))
	expect(t, true, strings.Contains(err.Error(), "no such socket"))
	pending, err := client.TryTrack(Event{Event: "y"})
	expect(t, BufferFull, ReasonOf(err))
	expect(t, (*Pending)(nil), pending)
	expect(t, Closed, ReasonOf(client.Close()))
	expect(t, "headgate: 1 events were not acknowledged when the client was closed", <-logged)
	pending, err = client.TryTrack(Event{Event: "z"})
	expect(t, Closed, ReasonOf(err))
	expect(t, (*Pending)(nil), pending)
	pending, err = client.TrackSoon(background, Event{Event: "z"})
	expect(t, Closed, ReasonOf(err))
	expect(t, (*Pending)(nil), pending)
}

// A daemon that has stopped reading delays Close by no more than CloseTimeout.
func TestCloseTakesNoLongerThanItsTime(t *testing.T) {
	defer func(fallback time.Duration) { longestWrite = fallback }(longestWrite)
	longestWrite = time.Hour
	daemon, client := pair(t, Options{})
	ping := inBackground(func() (any, error) { return client.ping(background) })
	connection := daemon.greet()
	connection.answer(connection.request("ping"), map[string]any{})
	_, err := ping()
	succeed(t, err)
	for n := 0; n < 64; n++ {
		_, err := client.TryTrack(Event{Event: "x", Data: map[string]string{"text": strings.Repeat("x", 1<<16)}})
		succeed(t, err)
	}
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	expect(t, Closed, ReasonOf(client.Shutdown(short)))
}

// logging is data that tracks another event while it is encoded, as a logger may do.
type logging struct{ client *Client }

func (l logging) MarshalJSON() ([]byte, error) {
	_, err := l.client.TryTrack(Event{Event: "log"})
	return []byte(`{"a":1}`), err
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("no") }

func TestDataThatCallsTheClient(t *testing.T) {
	daemon, client := pair(t, Options{MaxUnanswered: 3})
	_, err := client.TrackSoon(background, Event{Event: "x", Data: logging{client}})
	succeed(t, err)
	func() {
		defer func() { expect(t, any("no"), recover()) }()
		_, _ = client.TryTrack(Event{Event: "never", Data: panicking{}})
	}()
	_, err = client.TryTrack(Event{Event: "last"}) // a call that panicked takes no room
	succeed(t, err)
	connection := daemon.greet()
	for _, name := range []string{"log", "x", "last"} {
		expect(t, any(name), connection.request("track").Params["event"])
	}
}

// meeting is data whose encoding waits until two values are being encoded at the same time.
type meeting struct{ barrier *sync.WaitGroup }

func (m meeting) MarshalJSON() ([]byte, error) {
	m.barrier.Done()
	m.barrier.Wait()
	return []byte(`{"text":"` + strings.Repeat("x", 1_000) + `"}`), nil
}

func TestRoomIsNotGivenTwice(t *testing.T) {
	options := Options{SocketPath: filepath.Join(t.TempDir(), "d.sock"), ConnectTimeout: Forever, MaxUnansweredBytes: 1_000}
	lines(&options)
	client := New("test", "", options)
	defer func() { _ = client.Shutdown(ended0) }()
	var barrier sync.WaitGroup
	barrier.Add(2)
	try := func() (*Pending, error) { return client.TryTrack(Event{Event: "x", Data: meeting{&barrier}}) }
	first, second := inBackground(try), inBackground(try)
	refused := 0
	for _, end := range []func() (*Pending, error){first, second} {
		if _, err := end(); err != nil {
			expect(t, BufferFull, ReasonOf(err))
			refused++
		}
	}
	expect(t, 1, refused)
	expect(t, 1, client.Unanswered())
}

func TestHooksMayCallTheClient(t *testing.T) {
	var client *Client
	closed := make(chan error, 1)
	options := Options{SocketPath: filepath.Join(t.TempDir(), "d.sock"), ConnectTimeout: Forever, CloseTimeout: time.Millisecond}
	lines(&options)
	begun := make(chan struct{})
	options.OnState = func(state State, _ error) {
		if state == StateDisconnected {
			<-begun
			closed <- client.Close()
			runtime.Goexit()
		}
	}
	client = New("test", "", options)
	_, err := client.TryTrack(Event{Event: "x"})
	succeed(t, err)
	close(begun)
	expect(t, Closed, ReasonOf(<-closed))
}

func TestOddEvents(t *testing.T) {
	daemon, client := pair(t, Options{})
	var none map[string]any
	pending, err := client.TrackSoon(background, Event{Event: "x", ID: "1", Data: none})
	succeed(t, err)
	connection := daemon.greet()
	request := connection.request("track")
	expect(t, map[string]any{"event": "x", "id": "1"}, request.Params)
	connection.acknowledge(request)
	_, err = pending.Receipt()
	succeed(t, err)
	for _, event := range []Event{{Event: "\xff"}, {Event: "x", ID: "\xff"}, {Event: "x", Key: "\xc3"}} {
		_, err := client.Track(background, event)
		expect(t, Misuse, ReasonOf(err))
	}
	expect(t, 0, client.Unanswered())
}

func TestWaitsDoNotOverflow(t *testing.T) {
	for _, one := range []backoff{
		{base: 5 * time.Second, cap: time.Hour}, {base: time.Hour, cap: Forever}, {base: time.Hour, cap: time.Second},
		{base: 1, cap: 1},
	} {
		for one.failures = 1; one.failures < 200; one.failures++ {
			if wait := one.wait(); wait < 0 || wait > one.cap {
				t.Fatalf("%v: %s", one, wait)
			}
		}
	}
	slow := backoff{base: 10, cap: 85, failures: 4}
	if wait := slow.wait(); wait < 40 || wait > 80 {
		t.Fatalf("%s", wait)
	}
}

func TestEveryEndOfAHandlerIsAnAnswer(t *testing.T) {
	options := Options{}
	logged := lines(&options)
	daemon, client := pair(t, options)
	large := map[string]Settlement{strings.Repeat("i", 3_000): Dead}
	handlers := []Handler{
		func(context.Context, Batch) (map[string]Settlement, error) { runtime.Goexit(); return nil, nil },
		func(context.Context, Batch) (map[string]Settlement, error) {
			return nil, errors.New(strings.Repeat("ä", 3_000) + "\xff")
		},
		func(context.Context, Batch) (map[string]Settlement, error) { return large, nil },
	}
	end := inBackground(func() (*Subscription, error) {
		return client.Subscribe(background, "jobs", func(ctx context.Context, batch Batch) (map[string]Settlement, error) {
			return handlers[batch.Attempt](ctx, batch)
		}, WorkerOptions{})
	})
	connection := daemon.accept()
	connection.answer(connection.request("hello"), map[string]any{"limits": map[string]any{"max_line_bytes": 2_000}})
	connection.answer(connection.request("dispatcher.subscribe"), map[string]any{})
	_, err := end()
	succeed(t, err)
	for n := range handlers {
		connection.tell(map[string]any{"id": "d", "method": "dispatch", "params": map[string]any{
			"dispatcher": "jobs", "batch": "b", "attempt": n, "events": []any{},
		}})
		message, _ := connection.read()
		expect(t, any(-32603.0), message.Error["code"])
	}
	expect(t, true, strings.Contains(<-logged, "longer than the 2000 bytes"))
}

func TestSettlementsOfIdsWithHalfAPair(t *testing.T) {
	daemon, client := pair(t, Options{})
	_, connection := serve(t, daemon, client, func(_ context.Context, batch Batch) (map[string]Settlement, error) {
		return map[string]Settlement{batch.Events[0].ID: Dead, batch.Events[1].ID: Retry, "else": Dead}, nil
	})
	_, _ = connection.stream.Write([]byte(`{"jsonrpc":"2.0","id":"d","method":"dispatch","params":{"dispatcher":"jobs",` +
		`"batch":"b","attempt":1,"events":[{"id":"i\ud800"},{"id":"2"}]}}` + "\n"))
	line, err := connection.reader.ReadString('\n')
	succeed(t, err)
	expect(t, true, json.Valid([]byte(line)))
	expect(t, true, strings.Contains(line, `{"i\ud800":"dead","2":"retry","else":"dead"}`))
}

func TestLoweredLimitsAreReadAgain(t *testing.T) {
	daemon, client := pair(t, Options{})
	small, err := client.TryTrack(Event{Event: "small"})
	succeed(t, err)
	first := daemon.greet()
	request := first.request("track")
	large, err := client.TryTrack(Event{Event: "large", Data: map[string]string{"text": strings.Repeat("x", 500)}})
	succeed(t, err)
	first.request("track")
	pause := inBackground(func() (any, error) {
		return nil, client.Call(background, "dispatcher.pause", map[string]string{"id": "collect"}, nil)
	})
	first.request("dispatcher.pause")
	first.tell(map[string]any{"id": nil, "error": map[string]any{
		"code": -32000, "message": "too long", "data": map[string]any{"reason": "line_too_long"},
	}})
	second := daemon.accept()
	second.answer(second.request("hello"), map[string]any{"limits": map[string]any{"max_line_bytes": 300}})
	again := second.request("track")
	expect(t, request.Params["id"], again.Params["id"])
	second.acknowledge(again)
	_, err = small.Receipt()
	succeed(t, err)
	_, err = large.Receipt()
	expect(t, LineTooLong, ReasonOf(err))
	_, err = pause()
	expect(t, Disconnected, ReasonOf(err))
	second.expectSilence()
}

func TestRepeatedLimitErrorFailsTheCalls(t *testing.T) {
	daemon, client := pair(t, Options{})
	pending, err := client.TryTrack(Event{Event: "x"})
	succeed(t, err)
	for n := 0; n < 2; n++ {
		connection := daemon.greet()
		connection.request("track")
		connection.tell(map[string]any{"id": nil, "error": map[string]any{
			"code": -32000, "message": "too deep", "data": map[string]any{"reason": "limit"},
		}})
	}
	_, err = pending.Receipt()
	expect(t, BadAnswer, ReasonOf(err))
}

// D11: the client sends a handler's answer before it leaves the connection of a stopping daemon.
func TestHandlersFinishAtAnOrderlyStop(t *testing.T) {
	daemon, client := pair(t, Options{})
	finish := make(chan struct{})
	_, first := serve(t, daemon, client, func(context.Context, Batch) (map[string]Settlement, error) {
		<-finish
		return map[string]Settlement{"1": Dead}, nil
	})
	dispatch(first)
	first.tell(map[string]any{"method": "closing", "params": map[string]any{"reason": "shutting_down"}})
	first.expectSilence()
	ping := inBackground(func() (any, error) { return client.ping(background) })
	first.expectSilence()
	close(finish)
	message, _ := first.read()
	expect(t, map[string]any{"outcomes": map[string]any{"1": "dead"}}, message.Result)
	if message, isThere := first.read(); isThere {
		t.Fatalf("expected the end, got %v", message)
	}
	second := daemon.greet()
	second.answer(second.request("dispatcher.subscribe"), map[string]any{})
	second.answer(second.request("ping"), map[string]any{})
	_, err := ping()
	succeed(t, err)
}

func TestWorkerThatIsRefusedLater(t *testing.T) {
	options := Options{}
	logged := lines(&options)
	daemon, client := pair(t, options)
	refusals := make(chan error, 10)
	end := inBackground(func() (*Subscription, error) {
		return client.Subscribe(background, "jobs", func(context.Context, Batch) (map[string]Settlement, error) {
			return nil, nil
		}, WorkerOptions{OnRefused: func(err error) { refusals <- err }})
	})
	first := daemon.greet()
	first.answer(first.request("dispatcher.subscribe"), map[string]any{})
	subscription, err := end()
	succeed(t, err)
	first.stream.Close()
	second := daemon.greet()
	refuse(second, second.request("dispatcher.subscribe"))
	refuse(second, second.request("dispatcher.subscribe"))
	second.answer(second.request("dispatcher.subscribe"), map[string]any{})
	dispatch(second)
	message, _ := second.read()
	expect(t, map[string]any{}, message.Result)
	expect(t, NotFound, ReasonOf(<-refusals))
	expect(t, 0, len(refusals))
	expect(t, true, strings.Contains(<-logged, "refuses the worker of jobs"))
	succeed(t, subscription.Err())
}

func TestBatchesWaitForOneWhoseConnectionIsGone(t *testing.T) {
	daemon, client := pair(t, Options{})
	begun, finish := make(chan string), make(chan struct{})
	end := inBackground(func() (*Subscription, error) {
		return client.Subscribe(background, "jobs", func(_ context.Context, batch Batch) (map[string]Settlement, error) {
			begun <- batch.Batch
			<-finish
			return nil, nil
		}, WorkerOptions{})
	})
	give := func(connection *fakeConnection, batch string) {
		connection.tell(map[string]any{"id": "d", "method": "dispatch", "params": map[string]any{
			"dispatcher": "jobs", "batch": batch, "attempt": 1, "events": []any{},
		}})
	}
	first := daemon.greet()
	first.answer(first.request("dispatcher.subscribe"), map[string]any{})
	_, err := end()
	succeed(t, err)
	give(first, "1")
	expect(t, "1", <-begun)
	give(first, "2")
	first.expectSilence()
	first.stream.Close()
	second := daemon.greet()
	second.answer(second.request("dispatcher.subscribe"), map[string]any{})
	give(second, "3")
	second.expectSilence()
	finish <- struct{}{}
	expect(t, "3", <-begun)
	finish <- struct{}{}
	message, _ := second.read()
	expect(t, map[string]any{}, message.Result)
}
