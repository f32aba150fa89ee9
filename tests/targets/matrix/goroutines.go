// A Go program that checks its own sums: goroutines on many threads of the system (half of them
// locked to one), channels, small stacks that grow, timers, and the garbage collector.
// goroutines COUNTER-FILE; ends at SIGTERM.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const size = 1 << 16

var wrong, grown, ticks uint64
var want [32]byte

//go:noinline
func hotWork(data []byte) [32]byte { return sha256.Sum256(data) }

//go:noinline
func otherWork(step uint64, times int) uint64 {
	for i := 0; i < times; i++ {
		step *= 3
	}
	return step
}

//go:noinline
func roundDone(rounds *uint64) { atomic.AddUint64(rounds, 1) }

//go:noinline
func deep(level int) int {
	var frame [256]byte
	frame[level%256] = byte(level)
	if level == 0 {
		return int(frame[1])
	}
	return deep(level-1) + 1
}

func counter(path string) *uint64 {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0600)
	if err != nil {
		panic(err)
	}
	if err := file.Truncate(8); err != nil {
		panic(err)
	}
	memory, err := syscall.Mmap(int(file.Fd()), 0, 8, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*uint64)(unsafe.Pointer(&memory[0]))
}

func data() []byte {
	bytes := make([]byte, size)
	for i := range bytes {
		bytes[i] = byte(i * 7)
	}
	return bytes
}

func main() {
	rounds := counter(os.Args[1])
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	want = sha256.Sum256(data())
	wantOther := otherWork(1, 1000000)
	items := make(chan []byte, 8)
	go func() {
		for {
			items <- data()
		}
	}()
	go func() {
		for item := range items {
			for i := 0; i < 10; i++ {
				if hotWork(item) != want {
					atomic.AddUint64(&wrong, 1)
				}
			}
			roundDone(rounds)
		}
	}()
	for i := 0; i < 6; i++ {
		locked := i%2 == 0
		go func() {
			if locked {
				runtime.LockOSThread()
			}
			for {
				if otherWork(1, 1000000) != wantOther {
					atomic.AddUint64(&wrong, 1)
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
	go func() {
		for range time.Tick(5 * time.Millisecond) {
			atomic.AddUint64(&ticks, 1)
			grew := make(chan int)
			go func() { grew <- deep(500) }()
			if <-grew != 500 {
				atomic.AddUint64(&wrong, 1)
			}
			atomic.AddUint64(&grown, 1)
		}
	}()
	fmt.Printf("ready %d\n", os.Getpid())
	<-end
	fmt.Printf("rounds %d\nwrong %d\ndone %d\n", atomic.LoadUint64(rounds), wrong, grown)
}
