// Command bench measures what the code interpreter costs the requests that
// pass through it: the same bin/caddy runs twice, with the directive and
// without it, before the same upstream, and both get the same load in turns.
//
//	make build && go run ./bench
//
// It prints a Markdown table. Load generator, upstream and the two Caddys
// share the machine, so throughput ratios hold for the whole path; the CPU
// columns hold Caddy's own time alone.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// concurrency is how many requests are under way at once.
const concurrency = 10

func main() {
	binary := flag.String("caddy", "bin/caddy", "the `path` of the Caddy to measure")
	python := flag.String("python", os.Getenv("CODE_PYTHON"), "the `path` of the sandbox's Python; default $CODE_PYTHON, then /usr/bin/python3")
	rounds := flag.Int("rounds", 20, "how many pairs of batches of each case")
	flag.Parse()
	if *python == "" {
		*python = "/usr/bin/python3"
	}
	if err := run(*binary, *python, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(binary, python string, rounds int) error {
	upstream := startUpstream()
	defer upstream.Close()

	plain, err := startCaddy(binary, "", upstream.URL)
	if err != nil {
		return err
	}
	defer plain.stop()
	directive := fmt.Sprintf("code_interpreter {\n\t\tsandbox local {\n\t\t\tpython %s\n\t\t}\n\t}", python)
	with, err := startCaddy(binary, directive, upstream.URL)
	if err != nil {
		return err
	}
	defer with.stop()

	began := time.Now()
	fmt.Printf("%d pairs of interleaved batches of each case, concurrency %d unless it says otherwise; medians, quartiles in brackets. %s/%s, %d CPUs, %s.\n\n",
		rounds, concurrency, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Println("| case | without | with | with : without | target | Caddy's CPU without | with |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	for _, c := range cases() {
		result, err := measure(c, plain, with, rounds)
		if err != nil {
			return fmt.Errorf("measuring %q: %w", c.name, err)
		}
		fmt.Println(result.row(c))
	}

	allocations, err := passThroughAllocations(python)
	if err != nil {
		return fmt.Errorf("counting allocations: %w", err)
	}
	fmt.Printf("\nOne passed-through request of 10 KiB costs the handler %.0f allocations (%d bytes).\n", allocations.count, allocations.bytes)
	fmt.Printf("Took %s.\n", time.Since(began).Round(time.Second))
	return nil
}

// row formats a result as a line of the table.
func (r result) row(c benchCase) string {
	cells := []string{c.name}
	if c.events > 0 {
		perEvent := func(d time.Duration) string {
			return fmt.Sprintf("%.1f µs an event", float64(d.Nanoseconds())/1e3/float64(c.events))
		}
		cells = append(cells, perEvent(r.without.time), perEvent(r.with.time),
			fmt.Sprintf("+%.1f µs an event [%.1f, %.1f]", r.added.median, r.added.low, r.added.high),
			c.target, perEvent(r.without.cpu), perEvent(r.with.cpu))
	} else {
		rate := func(d time.Duration) string { return fmt.Sprintf("%.0f/s", float64(time.Second)/float64(d)) }
		cells = append(cells, rate(r.without.time), rate(r.with.time),
			fmt.Sprintf("%.3f [%.3f, %.3f]", r.ratio.median, r.ratio.low, r.ratio.high),
			c.target, micros(r.without.cpu), micros(r.with.cpu))
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

func micros(d time.Duration) string {
	return fmt.Sprintf("%d µs", d.Microseconds())
}
