package headgate

// Tests of the client in its own process: the drivers of Tests/Clients see a program from outside only.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"sync"
	"testing"
	"time"
)

var (
	background   = context.Background()
	ended0, stop = context.WithCancel(background)
)

func init() { stop() }

func pair(t *testing.T, options Options) (*fakeDaemon, *Client) {
	t.Helper()
	daemon := startDaemon(t)
	options.SocketPath = daemon.path
	options.BackoffBase, options.BackoffCap = 10*time.Millisecond, 100*time.Millisecond
	client := New("test", "1.0", options)
	t.Cleanup(func() { _ = client.Shutdown(ended0) })
	return daemon, client
}

func expect(t *testing.T, wanted, got any) {
	t.Helper()
	if !reflect.DeepEqual(wanted, got) {
		t.Fatalf("expected %v, got %v", wanted, got)
	}
}

func succeed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inBackground runs a function that waits for the daemon, which the test plays. It returns a function that waits for the result.
func inBackground[Value any](work func() (Value, error)) func() (Value, error) {
	var value Value
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = work()
	}()
	return func() (Value, error) {
		<-done
		return value, err
	}
}

func (c *Client) ping(ctx context.Context) (any, error) { return nil, c.Call(ctx, "ping", nil, nil) }

func TestGreeting(t *testing.T) {
	daemon := startDaemon(t)
	client := New("shop", "2.1", Options{SocketPath: daemon.path, Namespace: "till"})
	defer func() { _ = client.Shutdown(ended0) }()
	_, err := client.TrackSoon(background, Event{Event: "x"})
	succeed(t, err)
	expect(t, map[string]any{
		"client": map[string]any{"name": "shop", "version": "2.1"}, "protocol": 1.0, "namespace": "till",
	}, daemon.accept().request("hello").Params)
}

func TestRoom(t *testing.T) {
	daemon, client := pair(t, Options{MaxUnanswered: 2})
	first, err := client.TryTrack(Event{Event: "a"})
	succeed(t, err)
	_, err = client.TrackSoon(background, Event{Event: "b"})
	succeed(t, err)
	_, err = client.TryTrack(Event{Event: "c"})
	expect(t, BufferFull, ReasonOf(err))
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	pending, err := client.TrackSoon(short, Event{Event: "c"})
	expect(t, BufferFull, ReasonOf(err))
	expect(t, (*Pending)(nil), pending)
	expect(t, true, errors.Is(err, context.DeadlineExceeded))
	over, cancelOver := context.WithDeadline(background, time.Unix(1, 0)) // as on a machine that is busy
	defer cancelOver()
	_, err = client.Track(over, Event{Event: "c"})
	expect(t, BufferFull, ReasonOf(err))
	waiting := inBackground(func() (Receipt, error) { return client.Track(background, Event{Event: "d"}) })
	connection := daemon.greet()
	connection.acknowledge(connection.request("track"))
	receipt, err := first.Receipt()
	succeed(t, err)
	expect(t, uint64(1), receipt.Seq)
	connection.acknowledge(connection.request("track"))
	last := connection.request("track")
	expect(t, any("d"), last.Params["event"])
	connection.acknowledge(last)
	_, err = waiting()
	succeed(t, err)
	expect(t, 0, client.Unanswered())
}

func TestCancelledCallIsNotWritten(t *testing.T) {
	daemon, client := pair(t, Options{})
	ctx, cancel := context.WithCancel(background)
	taken := inBackground(func() (Receipt, error) { return client.Track(ctx, Event{Event: "taken back"}) })
	connection := daemon.accept()
	hello := connection.request("hello")
	cancel()
	_, err := taken()
	expect(t, true, errors.Is(err, context.Canceled))
	kept, err := client.TrackSoon(background, Event{Event: "kept"})
	succeed(t, err)
	connection.answer(hello, map[string]any{})
	request := connection.request("track")
	expect(t, any("kept"), request.Params["event"])
	connection.acknowledge(request)
	_, err = kept.Receipt()
	succeed(t, err)
	_, err = client.Track(ctx, Event{Event: "too late"})
	expect(t, true, errors.Is(err, context.Canceled))
	connection.expectSilence()
}

func TestDeadline(t *testing.T) {
	daemon, client := pair(t, Options{})
	end := inBackground(func() (any, error) { return client.ping(background) })
	connection := daemon.greet()
	connection.answer(connection.request("ping"), map[string]any{})
	_, err := end()
	succeed(t, err)
	short, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	_, err = client.ping(short)
	expect(t, TimedOut, ReasonOf(err))
	expect(t, true, errors.Is(err, context.DeadlineExceeded))
}

func TestMissingDaemon(t *testing.T) {
	client := New("test", "", Options{SocketPath: filepath.Join(t.TempDir(), "d.sock"), ConnectTimeout: -1})
	_, err := client.ping(background)
	expect(t, CannotConnect, ReasonOf(err))
	succeed(t, client.Close())
	_, err = client.ping(background)
	expect(t, Closed, ReasonOf(err))
}

func TestCloseWaitsForAnswers(t *testing.T) {
	daemon, client := pair(t, Options{CloseTimeout: Forever})
	pending, err := client.TrackSoon(background, Event{Event: "x"})
	succeed(t, err)
	end := inBackground(func() (any, error) { return nil, client.Close() })
	connection := daemon.greet()
	connection.acknowledge(connection.request("track"))
	_, err = end()
	succeed(t, err)
	_, err = pending.Receipt()
	succeed(t, err)
	if message, isThere := connection.read(); isThere {
		t.Fatalf("expected the end, got %v", message)
	}
	succeed(t, client.Close())
}

func TestCloseReportsUnansweredCalls(t *testing.T) {
	daemon, client := pair(t, Options{CloseTimeout: time.Millisecond})
	pending, err := client.TrackSoon(background, Event{Event: "x"})
	succeed(t, err)
	daemon.greet().request("track")
	err = client.Close()
	expect(t, "headgate: 1 calls were not answered (closed)", err.Error())
	_, err = pending.Receipt()
	expect(t, Closed, ReasonOf(err))
}

func TestCloseWhileNobodyGreets(t *testing.T) {
	daemon, client := pair(t, Options{GreetingTimeout: time.Hour})
	_, err := client.TrackSoon(background, Event{Event: "x"})
	succeed(t, err)
	daemon.accept().request("hello")
	expect(t, Closed, ReasonOf(client.Shutdown(ended0)))
}

func TestGoroutines(t *testing.T) {
	daemon, client := pair(t, Options{MaxUnanswered: 5})
	var running sync.WaitGroup
	ids := make([][]string, 4)
	for worker := range ids {
		running.Add(1)
		go func(worker int) {
			defer running.Done()
			for n := 0; n < 50; n++ {
				receipt, err := client.Track(background, Event{Event: strconv.Itoa(worker)})
				if err != nil {
					t.Error(err)
					return
				}
				ids[worker] = append(ids[worker], receipt.ID)
			}
		}(worker)
	}
	stored := make([][]string, len(ids))
	connection := daemon.greet()
	for n := 0; n < 200; n++ {
		request := connection.request("track")
		worker, err := strconv.Atoi(fmt.Sprint(request.Params["event"]))
		succeed(t, err)
		stored[worker] = append(stored[worker], fmt.Sprint(request.Params["id"]))
		connection.acknowledge(request)
	}
	running.Wait()
	expect(t, stored, ids)
}

func TestNoJSON(t *testing.T) {
	_, client := pair(t, Options{})
	_, err := client.Track(background, Event{Event: "x", Data: func() {}})
	if err == nil || ReasonOf(err) != "" {
		t.Fatalf("expected an error of encoding/json, got %v", err)
	}
	expect(t, 0, client.Unanswered())
}

// serve subscribes, and returns the subscription and the connection on which it was granted.
func serve(t *testing.T, daemon *fakeDaemon, client *Client, handler Handler) (*Subscription, *fakeConnection) {
	t.Helper()
	end := inBackground(func() (*Subscription, error) {
		return client.Subscribe(background, "jobs", handler, WorkerOptions{Credit: 2, Limit: 7})
	})
	connection := daemon.greet()
	request := connection.request("dispatcher.subscribe")
	expect(t, map[string]any{"id": "jobs", "credit": 2.0, "limit": 7.0}, request.Params)
	connection.answer(request, map[string]any{})
	subscription, err := end()
	succeed(t, err)
	return subscription, connection
}

func dispatch(connection *fakeConnection) {
	connection.tell(map[string]any{"id": "d", "method": "dispatch", "params": map[string]any{
		"dispatcher": "jobs", "batch": "b", "attempt": 1, "events": []any{},
	}})
}

func TestWorkerKnowsOfALostConnection(t *testing.T) {
	daemon, client := pair(t, Options{})
	begun, over := make(chan struct{}), make(chan error)
	_, first := serve(t, daemon, client, func(ctx context.Context, _ Batch) (map[string]Settlement, error) {
		close(begun)
		<-ctx.Done()
		over <- ctx.Err()
		return nil, nil
	})
	dispatch(first)
	<-begun
	first.stream.Close()
	second := daemon.greet()
	second.answer(second.request("dispatcher.subscribe"), map[string]any{})
	expect(t, context.Canceled, <-over)
	second.expectSilence() // a request of the first connection is not answered on the second
}

func TestWorkerThatIsClosed(t *testing.T) {
	daemon, client := pair(t, Options{CloseTimeout: Forever})
	finish := make(chan struct{})
	subscription, connection := serve(t, daemon, client, func(context.Context, Batch) (map[string]Settlement, error) {
		<-finish
		return map[string]Settlement{"1": Retry}, nil
	})
	dispatch(connection)
	end := inBackground(func() (any, error) { return nil, client.Close() })
	leave := connection.request("dispatcher.unsubscribe")
	again := inBackground(func() (any, error) { return nil, subscription.Close() })
	connection.expectSilence() // the subscription is ended once
	close(finish)
	message, _ := connection.read()
	expect(t, map[string]any{"outcomes": map[string]any{"1": "retry"}}, message.Result)
	connection.answer(leave, map[string]any{})
	_, err := end()
	succeed(t, err)
	_, err = again()
	succeed(t, err)
	<-subscription.Done()
	succeed(t, subscription.Err())
}

func refuse(connection *fakeConnection, to asked) {
	connection.tell(map[string]any{"id": to.ID, "error": map[string]any{
		"code": -32000, "message": "no", "data": map[string]any{"reason": "not_found"},
	}})
}

// The daemon handles requests in order, so it has no worker in the end.
func TestWorkerThatIsClosedWhileItBeginsAgain(t *testing.T) {
	for _, isRefused := range []bool{false, true} {
		daemon, client := pair(t, Options{})
		subscription, first := serve(t, daemon, client, nil)
		first.stream.Close()
		second := daemon.greet()
		again := second.request("dispatcher.subscribe")
		end := inBackground(func() (any, error) { return nil, subscription.Close() })
		for _, request := range []asked{again, second.request("dispatcher.unsubscribe")} {
			if isRefused {
				refuse(second, request)
			} else {
				second.answer(request, map[string]any{})
			}
		}
		_, err := end()
		succeed(t, err)
		second.expectSilence()
	}
}

// A cancelled worker is ended at once, so that it does not affect a worker that begins after it.
func TestWorkerThatIsCancelled(t *testing.T) {
	daemon, client := pair(t, Options{})
	ctx, giveUp := context.WithCancel(background)
	subscribe := func(ctx context.Context) func() (*Subscription, error) {
		return inBackground(func() (*Subscription, error) {
			return client.Subscribe(ctx, "jobs", nil, WorkerOptions{})
		})
	}
	end := subscribe(ctx)
	connection := daemon.greet()
	late := connection.request("dispatcher.subscribe")
	giveUp()
	_, err := end()
	expect(t, true, errors.Is(err, context.Canceled))
	given := connection.request("dispatcher.unsubscribe")
	end = subscribe(background)
	for _, request := range []asked{late, given, connection.request("dispatcher.subscribe")} {
		connection.answer(request, map[string]any{})
	}
	_, err = end()
	succeed(t, err)
	connection.expectSilence()
}

func TestEndOfAWorkerIsNotSentOnAnotherConnection(t *testing.T) {
	daemon, client := pair(t, Options{CloseTimeout: Forever})
	subscription, first := serve(t, daemon, client, nil)
	ping := inBackground(func() (any, error) { return nil, client.Call(background, "ping", nil, nil) })
	first.request("ping")
	first.tell(map[string]any{"method": "closing", "params": map[string]any{"reason": "shutting_down"}})
	first.expectSilence() // nothing is written any more
	end := inBackground(func() (any, error) { return nil, subscription.Close() })
	for client.Unanswered() < 2 {
		time.Sleep(time.Millisecond)
	}
	first.stream.Close()
	second := daemon.greet()
	second.answer(second.request("ping"), map[string]any{})
	_, err := ping()
	succeed(t, err)
	_, err = end()
	succeed(t, err)
	second.expectSilence()
}

func TestWorkerThatHasNotBegunWhenTheClientIsClosed(t *testing.T) {
	daemon, client := pair(t, Options{CloseTimeout: Forever})
	end := inBackground(func() (*Subscription, error) {
		return client.Subscribe(background, "jobs", nil, WorkerOptions{})
	})
	connection := daemon.greet()
	late := connection.request("dispatcher.subscribe")
	closing := inBackground(func() (any, error) { return nil, client.Close() })
	_, err := end()
	expect(t, Closed, ReasonOf(err))
	given := connection.request("dispatcher.unsubscribe")
	connection.answer(late, map[string]any{})
	connection.answer(given, map[string]any{})
	_, err = closing()
	succeed(t, err)
}

func TestUnknownSettlement(t *testing.T) {
	daemon, client := pair(t, Options{})
	_, connection := serve(t, daemon, client, func(context.Context, Batch) (map[string]Settlement, error) {
		return map[string]Settlement{"1": "eaten"}, nil
	})
	dispatch(connection)
	message, _ := connection.read()
	expect(t, any(-32603.0), message.Error["code"])
}

func TestTwoWorkersOfADispatcher(t *testing.T) {
	daemon, client := pair(t, Options{})
	subscription, _ := serve(t, daemon, client, nil)
	_, err := client.Subscribe(background, "jobs", nil, WorkerOptions{})
	expect(t, Misuse, ReasonOf(err))
	succeed(t, subscription.Err())
}

func TestDepth(t *testing.T) {
	for text, wanted := range map[string]int{`1`: 0, `{}`: 1, `[{"a":[]},{}]`: 3, `["[[\"[["]`: 1, `["\\",[]]`: 2} {
		expect(t, wanted, depth([]byte(text)))
	}
}

func TestIDs(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	made, seen := make([]string, 10_000), map[string]bool{}
	for n := range made {
		made[n] = NewID()
		seen[made[n]] = true
		if !form.MatchString(made[n]) {
			t.Fatal(made[n])
		}
	}
	expect(t, true, sort.StringsAreSorted(made))
	expect(t, len(made), len(seen))
}

// Docs/Decisions/0010 describes the search for the socket.
func TestSocketPlace(t *testing.T) {
	const machine, own = "/run/headgate", "/b/headgate"
	for _, one := range []struct {
		socket, runtime string
		folders         []string
		wanted          string
	}{
		{"/a", "/b", []string{own}, "/a"},
		{"", "/b", nil, own + "/headgate.sock"},
		{"", "/b", []string{machine}, machine + "/headgate.sock"},
		{"", "/b", []string{machine, own}, own + "/headgate.sock"},
		{"", "b", nil, machine + "/headgate.sock"},
		{"", "", nil, machine + "/headgate.sock"},
	} {
		variables := map[string]string{"HEADGATE_SOCKET": one.socket, "XDG_RUNTIME_DIR": one.runtime}
		isFolder := func(path string) bool {
			for _, folder := range one.folders {
				if folder == path {
					return true
				}
			}
			return false
		}
		expect(t, one.wanted, defaultSocket(func(name string) string { return variables[name] }, isFolder))
	}
}
