// A Go program to attach to: goroutines that work in rounds and pass items through a channel, until
// SIGTERM. Go has its own handlers for every signal, small stacks and its own scheduler.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

var rounds uint64

//go:noinline
func work(value uint64) uint64 {
	for i := 0; i < 1000000; i++ {
		value = value*3 + 1
	}
	return value
}

//go:noinline
func roundDone() { atomic.AddUint64(&rounds, 1) }

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	items := make(chan uint64, 8)
	go func() {
		for {
			items <- work(1)
		}
	}()
	go func() {
		for item := range items {
			work(item)
			roundDone()
		}
	}()
	fmt.Printf("ready %d\n", os.Getpid())
	<-end
	fmt.Printf("rounds %d\n", atomic.LoadUint64(&rounds))
}
