package main

import "fmt"

var done uint64

type box struct{ sum uint64 }

//go:noinline
func (b *box) spin(n int) {
	for i := 0; i < n; i++ {
		b.sum ^= uint64(i) * 2654435761
	}
}

//go:noinline
func work(b *box) {
	for i := 0; i < 2; i++ {
		b.spin(500000)
	}
}

//go:noinline
func itemDone(b *box) {
	done += b.sum
}

func main() {
	fmt.Println("ready")
	b := &box{}
	for {
		work(b)
		itemDone(b)
	}
}
