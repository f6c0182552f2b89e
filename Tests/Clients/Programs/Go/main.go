// The Go client as a program, by the verbs of Docs/Clients.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/headgate"
)

var (
	background = context.Background()
	output     sync.Mutex
)

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

// orNull is null in place of what is empty.
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

// given is an event as the input has it.
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
	switch method {
	case "track":
		var event given
		read(arguments, &event)
		return receipt(client.Track(background, event.made()))
	case "track_many":
		var many struct{ Events []given }
		read(arguments, &many)
		events := make([]headgate.Event, len(many.Events))
		for place, event := range many.Events {
			events[place] = event.made()
		}
		said, err := client.TrackMany(background, events)
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
		flush, err := client.Flush(background, headgate.FlushOptions{
			Dispatchers: options.Dispatchers, Wait: options.Wait, Timeout: milliseconds(options.Timeout), ID: options.Flush,
		})
		if !options.Wait {
			return outcome(object{"flush": flush.ID}, err)
		}
		return outcome(flush, err)
	case "status":
		status, err := client.Status(background)
		return outcome(status, err)
	default:
		var result json.RawMessage
		err := client.Call(background, method, arguments, &result)
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

// track tracks as many events without waiting in between; it tells what came of each, in order.
func track(client *headgate.Client, count, name string) {
	number, err := strconv.Atoi(count)
	if err != nil {
		log.Fatal(err)
	}
	events := make([]headgate.Event, number)
	for n := range events {
		events[n] = headgate.Event{Event: name, Data: map[string]int{"n": n}}
	}
	for n, one := range client.TrackEach(background, events) {
		line := receipt(one.Receipt, one.Err)
		line["n"] = n
		put(line)
	}
}

// work deals with events as their names say.
func work(_ context.Context, batch headgate.Batch) (map[string]headgate.Settlement, error) {
	ids, names := []string{}, map[string]bool{}
	for _, event := range batch.Events {
		ids = append(ids, event.ID)
		names[event.Event] = true
	}
	put(object{"batch": ids, "attempt": batch.Attempt})
	if names["fail"] {
		return nil, errors.New("as the event asked")
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

// handle works for what is named, until the input ends: `worker:ID`.
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
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// timeout is an option in milliseconds, of which 0 is none at all.
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
	flag.Parse()
	client := headgate.New("certified", "1.0", options)
	switch arguments := flag.Args(); arguments[0] {
	case "calls":
		calls(client)
	case "track":
		track(client, arguments[1], arguments[2])
	case "handle":
		handle(client, arguments[1:])
	default:
		log.Fatalf("there is no verb %s", arguments[0])
	}
	if err := client.Close(); err != nil {
		log.Fatal(err)
	}
}
