// The Go client as a program with the verbs of Docs/Clients.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.org/headgate"
)

var (
	background = context.Background()
	output     sync.Mutex
	deadline   time.Duration // the deadline of each call; 0 is none
)

// patient returns the context of a call.
func patient() (context.Context, context.CancelFunc) {
	if deadline == 0 {
		return context.WithCancel(background)
	}
	return context.WithTimeout(background, deadline)
}

func put(value any) {
	output.Lock()
	defer output.Unlock()
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		log.Fatal(err)
	}
}

type object = map[string]any

// orNull returns null for an empty value.
func orNull[Value comparable](value Value) any {
	var empty Value
	if value == empty {
		return nil
	}
	return value
}

func refusal(err error) object {
	var refused *headgate.Error
	if !errors.As(err, &refused) {
		log.Fatal(err)
	}
	return object{
		"code": refused.Code, "reason": orNull(refused.Reason), "message": refused.Message, "path": orNull(refused.Path),
	}
}

func outcome(result any, err error) object {
	if err != nil {
		return object{"error": refusal(err)}
	}
	return object{"result": result}
}

func receipt(said headgate.Receipt, err error) object {
	return outcome(object{
		"id": said.ID, "seq": orNull(said.Seq), "duplicate": said.Duplicate, "unrouted": said.Unrouted,
	}, err)
}

// given is an event of the input.
type given struct {
	Event       string
	Data        json.RawMessage
	ID          string
	Key         string
	Time        time.Time
	Dispatchers []string
	TTL         *int64 `json:"ttl_ms"`
}

func milliseconds(count *int64) *time.Duration {
	if count == nil {
		return nil
	}
	duration := time.Duration(*count) * time.Millisecond
	return &duration
}

func (g given) made() headgate.Event {
	event := headgate.Event{
		Event: g.Event, ID: g.ID, Key: g.Key, Time: g.Time, Dispatchers: g.Dispatchers, TTL: milliseconds(g.TTL),
	}
	if g.Data != nil {
		event.Data = g.Data
	}
	return event
}

func read(raw json.RawMessage, into any) {
	if err := json.Unmarshal(raw, into); err != nil {
		log.Fatal(err)
	}
}

func call(client *headgate.Client, method string, arguments json.RawMessage) object {
	ctx, cancel := patient()
	defer cancel()
	switch method {
	case "track":
		var event given
		read(arguments, &event)
		return receipt(client.Track(ctx, event.made()))
	case "track_many":
		var many struct{ Events []given }
		read(arguments, &many)
		events := make([]headgate.Event, len(many.Events))
		for place, event := range many.Events {
			events[place] = event.made()
		}
		said, err := client.TrackMany(ctx, events)
		return outcome(object{
			"ids": said.IDs, "first_seq": orNull(said.FirstSeq), "last_seq": orNull(said.LastSeq),
			"duplicates": said.Duplicates, "unrouted": said.Unrouted,
		}, err)
	case "flush":
		var options struct {
			Dispatchers []string
			Wait        bool
			Timeout     *int64 `json:"timeout_ms"`
			Flush       string
		}
		read(arguments, &options)
		flush, err := client.Flush(ctx, headgate.FlushOptions{
			Dispatchers: options.Dispatchers, Wait: options.Wait, Timeout: milliseconds(options.Timeout), ID: options.Flush,
		})
		if !options.Wait {
			return outcome(object{"flush": flush.ID}, err)
		}
		return outcome(flush, err)
	case "status":
		status, err := client.Status(ctx)
		return outcome(status, err)
	default:
		var result json.RawMessage
		err := client.Call(ctx, method, arguments, &result)
		return outcome(result, err)
	}
}

func calls(client *headgate.Client) {
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		asked := struct {
			Method    string
			Arguments json.RawMessage
		}{Arguments: json.RawMessage("{}")}
		read(line, &asked)
		put(call(client, asked.Method, asked.Arguments))
	}
}

// events creates events of one name, with a text of the given size.
func events(count, name, size string) []headgate.Event {
	number, err := strconv.Atoi(count)
	if err != nil {
		log.Fatal(err)
	}
	bytes, err := strconv.Atoi(size)
	if err != nil {
		log.Fatal(err)
	}
	made := make([]headgate.Event, number)
	for n := range made {
		data := object{"n": n}
		if bytes > 0 {
			data["text"] = strings.Repeat("x", bytes)
		}
		made[n] = headgate.Event{Event: name, Data: data}
	}
	return made
}

// track tracks events without waiting between them, and writes the outcomes in order.
func track(client *headgate.Client, count, name string) {
	for n, one := range client.TrackEach(background, events(count, name, "0")) {
		line := receipt(one.Receipt, one.Err)
		line["n"] = n
		put(line)
	}
}

// try tracks events with calls that never wait. It writes refusals at once, and the other outcomes later.
func try(client *headgate.Client, arguments []string) {
	made, taken := events(arguments[0], arguments[1], append(arguments, "0")[2]), map[int]*headgate.Pending{}
	for n, event := range made {
		pending, err := client.TryTrack(event)
		if err != nil {
			put(object{"n": n, "error": refusal(err)})
			continue
		}
		taken[n] = pending
	}
	put("tried")
	for n := range made {
		if pending := taken[n]; pending != nil {
			line := receipt(pending.Receipt())
			line["n"] = n
			put(line)
		}
	}
}

// room tracks an event that uses the available room, and another that waits for room until the deadline.
func room(client *headgate.Client, name string) {
	first, err := client.TrackSoon(background, headgate.Event{Event: name})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := patient()
	defer cancel()
	put(receipt(client.Track(ctx, headgate.Event{Event: name})))
	put(receipt(first.Receipt()))
}

// end tracks events without waiting, then closes the client, since Go runs no code at the end of a program.
func end(client *headgate.Client, count, name string) {
	for _, event := range events(count, name, "0") {
		if _, err := client.TrackSoon(background, event); err != nil {
			log.Fatal(err)
		}
	}
	_ = client.Close() // Close logs the number of events that are left
}

// waiting has the handlers that continue when the input has a line.
var waiting = make(chan struct{})

// endAsAsked ends a handler as the input requests.
func endAsAsked(names map[string]bool) error {
	switch {
	case names["leave"]:
		runtime.Goexit()
	case names["fail"]:
		return errors.New("as the event asked")
	case names["long"]:
		return errors.New(strings.Repeat("x", 100_000))
	case names["cancel"]:
		return context.Canceled
	case names["mute"]:
		return errors.New("\xff")
	}
	return nil
}

// work handles each event as its name requests.
func work(_ context.Context, batch headgate.Batch) (map[string]headgate.Settlement, error) {
	ids, names := []string{}, map[string]bool{}
	for _, event := range batch.Events {
		ids = append(ids, event.ID)
		names[event.Event] = true
	}
	put(object{"batch": ids, "attempt": batch.Attempt})
	if names["wait"] {
		<-waiting
	}
	if err := endAsAsked(names); err != nil {
		return nil, err
	}
	if names["wrong"] {
		return map[string]headgate.Settlement{ids[0]: "eaten"}, nil
	}
	if names["retry_once"] && batch.Attempt > 1 {
		return nil, nil
	}
	known := map[string]headgate.Settlement{
		"dead": headgate.Dead, "retry": headgate.Retry, "retry_once": headgate.Retry,
	}
	settlements := map[string]headgate.Settlement{}
	for _, event := range batch.Events {
		if settlement, isKnown := known[event.Event]; isKnown {
			settlements[event.ID] = settlement
		}
	}
	return settlements, nil
}

// handle works for `worker:ID` until the input ends. A line of the input lets waiting handlers continue.
func handle(client *headgate.Client, names []string) {
	for _, name := range names {
		kind, id, _ := strings.Cut(name, ":")
		if kind != "worker" {
			log.Fatalf("this client cannot serve %s", name)
		}
		if _, err := client.Subscribe(background, id, work, headgate.WorkerOptions{}); err != nil {
			log.Fatal(err)
		}
	}
	put("ready")
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		waiting <- struct{}{}
	}
}

// timeout is an option in milliseconds, where 0 means none.
func timeout(into *time.Duration) func(string) error {
	return func(text string) error {
		count, err := strconv.Atoi(text)
		*into = time.Duration(count) * time.Millisecond
		if count == 0 {
			*into = -1
		}
		return err
	}
}

func main() {
	options := headgate.Options{BackoffBase: 10 * time.Millisecond, BackoffCap: 200 * time.Millisecond}
	flag.StringVar(&options.SocketPath, "socket", "", "")
	flag.StringVar(&options.Namespace, "namespace", "", "")
	flag.IntVar(&options.MaxUnanswered, "max-unanswered", 0, "")
	flag.Func("greeting-timeout-ms", "", timeout(&options.GreetingTimeout))
	flag.Func("connect-timeout-ms", "", timeout(&options.ConnectTimeout))
	flag.Func("reconnect-timeout-ms", "", timeout(&options.ReconnectTimeout))
	flag.Func("deadline-ms", "", timeout(&deadline))
	tell, signals := flag.String("tell", "", ""), flag.String("signals", "", "")
	flag.Parse()
	if *tell != "" {
		options.OnState = func(state headgate.State, _ error) { put(object{"state": state}) }
		options.Logf = func(format string, arguments ...any) { put(object{"warning": fmt.Sprintf(format, arguments...)}) }
	}
	if *signals != "" {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	}
	client := headgate.New("certified", "1.0", options)
	switch arguments := flag.Args(); arguments[0] {
	case "calls":
		calls(client)
	case "track":
		track(client, arguments[1], arguments[2])
	case "try":
		try(client, arguments[1:])
	case "room":
		room(client, arguments[1])
	case "end":
		end(client, arguments[2], arguments[3])
	case "handle":
		handle(client, arguments[1:])
	default:
		log.Fatalf("there is no verb %s", arguments[0])
	}
	if err := client.Close(); err != nil {
		log.Fatal(err)
	}
}
