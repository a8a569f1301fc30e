// First starts a thousand operations on schedule.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"nanopace"
)

var slowest time.Duration

func sendRequest() {} // your operation
func record(response time.Duration) { // your histogram
	if response > slowest {
		slowest = response
	}
}

func run() error {
	pacer, err := nanopace.New("5k/s", 1_000) // or a shape: "ramp 100/s..5k/s 30s, hold 60s"
	if err != nil {
		return err
	}
	defer pacer.Close()
	grant, err := pacer.Acquire() // parks the goroutine until the slot's intended start
	for ; err == nil; grant, err = pacer.Acquire() {
		sendRequest()
		record(time.Since(pacer.Start(grant))) // from the intended start
	}
	return err // nanopace.ErrFinished
}

func main() {
	if err := run(); !errors.Is(err, nanopace.ErrFinished) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("the slowest took", slowest)
}
