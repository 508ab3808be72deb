// Command puppet does inside a sandbox what a test outside tells it, and on the
// world's internet it is an origin that behaves badly.
//
//	puppet FILE                  orders from standard input, answers to FILE
//	puppet unix NAME             one request to an abstract socket
//	puppet squat NAME            listens at an abstract socket
//	puppet origin KIND ADDR FILE an origin; FILE tells of its connections
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"ringfence.dev/ringfence/test/grants/order"
)

var verbs = map[string]func(order.Order) order.Answer{
	"get":     get,
	"look":    look,
	"connect": connect,
	"raw":     raw,
	"open":    open,
	"ended":   ended,
	"say":     say,
	"upload":  upload,
	"listen":  listen,
	"file":    file,
	"unix":    func(o order.Order) order.Answer { return askUnix(o.At) },
	"drip":    drip,
	"crowd":   crowd,
	"release": release,
	"flood":   flood,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "puppet:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1:
		return obey(args[0])
	case len(args) == 2 && args[0] == "unix":
		a := askUnix(args[1])
		fmt.Println(a.Text)
		if a.Error != "" {
			return errors.New(a.Error)
		}
		return nil
	case len(args) == 2 && args[0] == "squat":
		return squat(args[1])
	case len(args) == 4 && args[0] == "origin":
		return origin(args[1], args[2], args[3])
	}
	return fmt.Errorf("%q is not understood", args)
}

// obey does what standard input says until it ends.
func obey(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(a order.Answer) {
		b, _ := json.Marshal(a)
		mu.Lock()
		defer mu.Unlock()
		f.Write(append(b, '\n'))
	}
	say(order.Answer{ID: order.Ready})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var o order.Order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		go func() {
			began := time.Now()
			a := order.Answer{Error: fmt.Sprintf("%q is not a verb", o.Do)}
			if do := verbs[o.Do]; do != nil {
				a = do(o)
			}
			a.ID = o.ID
			if a.Took == 0 {
				a.Took = time.Since(began)
			}
			say(a)
		}()
	}
	return lines.Err()
}

func failed(err error) order.Answer { return order.Answer{Error: err.Error()} }

// file reads a file.
func file(o order.Order) order.Answer {
	b, err := os.ReadFile(o.At)
	if err != nil {
		return order.Answer{Error: err.Error()}
	}
	return order.Answer{Text: string(b)}
}
