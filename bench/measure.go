package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// benchCase is a kind of request and how many of it make a batch.
type benchCase struct {
	name    string
	path    string
	body    []byte
	batch   int
	workers int
	events  int // of the streamed answer; 0 when it is not streamed
	target  string
}

func cases() []benchCase {
	return []benchCase{
		{name: "chat, body of 10 KiB, no tool", path: "/v1/chat/completions", body: chatBody(10 << 10), batch: 2000, workers: concurrency, target: "≥ 0.97"},
		{name: "chat, body of 4 MiB, no tool", path: "/v1/chat/completions", body: chatBody(4 << 20), batch: 60, workers: concurrency, target: "≥ 0.88"},
		// Chat paths are not looked into; these are, which is what the gate costs.
		{name: "Responses, body of 10 KiB, no tool", path: "/whole/responses", body: chatBody(10 << 10), batch: 2000, workers: concurrency, target: "≥ 0.97"},
		{name: "Responses, body of 4 MiB, no tool", path: "/whole/responses", body: chatBody(4 << 20), batch: 60, workers: concurrency, target: "≥ 0.88"},
		{name: "Responses stream with the tool, one at a time", path: "/v1/responses", body: toolBody(), batch: 3, workers: 1, events: streamEvents, target: "≤ +20 µs"},
		{name: "Responses stream with the tool", path: "/v1/responses", body: toolBody(), batch: concurrency, workers: concurrency, events: streamEvents, target: ""},
	}
}

// cost is what one request took.
type cost struct {
	time time.Duration // of the batch, divided by its requests
	cpu  time.Duration // of the Caddy process
}

// spread is a median with its quartiles.
type spread struct{ low, median, high float64 }

// result compares the two Caddys over all rounds.
type result struct {
	without, with cost
	ratio         spread // of throughputs, of the two batches of a round
	added         spread // microseconds an event
}

// measure runs the batches in turns, so that what else the machine does hits
// both alike, and compares within each pair only.
func measure(c benchCase, plain, with *caddy, rounds int) (result, error) {
	for _, server := range []*caddy{plain, with} { // warm up
		if _, err := runBatch(c, server); err != nil {
			return result{}, err
		}
	}
	var withouts, withs []cost
	var ratios, added []float64
	for round := range rounds {
		order := []*caddy{plain, with}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		costs := make(map[*caddy]cost)
		for _, server := range order {
			one, err := runBatch(c, server)
			if err != nil {
				return result{}, err
			}
			costs[server] = one
		}
		a, b := costs[plain], costs[with]
		withouts, withs = append(withouts, a), append(withs, b)
		ratios = append(ratios, float64(a.time)/float64(b.time))
		if c.events > 0 {
			added = append(added, float64((b.time-a.time).Nanoseconds())/1e3/float64(c.events))
		}
	}
	return result{without: medianCost(withouts), with: medianCost(withs), ratio: spreadOf(ratios), added: spreadOf(added)}, nil
}

func medianCost(costs []cost) cost {
	var times, cpus []float64
	for _, c := range costs {
		times, cpus = append(times, float64(c.time)), append(cpus, float64(c.cpu))
	}
	return cost{time.Duration(spreadOf(times).median), time.Duration(spreadOf(cpus).median)}
}

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	slices.Sort(values)
	at := func(part float64) float64 { return values[int(part*float64(len(values)-1)+0.5)] }
	return spread{at(0.25), at(0.5), at(0.75)}
}

var client = &http.Client{Transport: &http.Transport{
	MaxIdleConnsPerHost: 2 * concurrency,
	DisableCompression:  true,
	WriteBufferSize:     64 << 10,
	ReadBufferSize:      64 << 10,
}}

// runBatch sends a batch and returns the cost of one of its requests.
func runBatch(c benchCase, server *caddy) (cost, error) {
	var left atomic.Int64
	left.Store(int64(c.batch))
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)

	cpu, err := server.cpu()
	if err != nil {
		return cost{}, err
	}
	began := time.Now()
	var group sync.WaitGroup
	for range c.workers {
		group.Go(func() {
			buffer := make([]byte, 64<<10)
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				if err := sendOne(ctx, c, server.url, buffer); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	if err := context.Cause(ctx); err != nil {
		return cost{}, err
	}
	after, err := server.cpu()
	if err != nil {
		return cost{}, err
	}
	n := time.Duration(c.batch)
	return cost{time: took / n, cpu: (after - cpu) / n}, nil
}

func sendOne(ctx context.Context, c benchCase, url string, buffer []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+c.path, bytes.NewReader(c.body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer bench")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	// The end of a stream is looked for in what came last only.
	var tail []byte
	for {
		n, err := response.Body.Read(buffer)
		tail = append(tail, buffer[:n]...)
		if len(tail) > 64<<10 { // the last event holds the whole text once more
			tail = append(tail[:0], tail[len(tail)-64<<10:]...)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if c.events > 0 && !bytes.Contains(tail, []byte("event: response.completed")) {
		return fmt.Errorf("the stream ended with %q", tail)
	}
	return nil
}
