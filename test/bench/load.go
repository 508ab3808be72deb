package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// loadName is the name under which this program is the client.
const loadName = "bench-load"

// load is what a client measured against an origin.
type load struct {
	Bulk  float64 `json:"bulk"`  // bytes a second, one connection
	Fresh float64 `json:"fresh"` // seconds for a connection, a request and its end; median
	Alive float64 `json:"alive"` // seconds for a request on an open connection; median
	Many  float64 `json:"many"`  // requests a second on 16 open connections
}

// How much is asked of each; bounded in count and time.
const (
	bulkBytes  = 768 << 20
	freshCount = 400
	aliveCount = 3000
	manyConns  = 16
	manyTime   = 1200 * time.Millisecond
)

// origin serves small answers and, under /bytes/N, large ones.
func origin() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	small := []byte(strings.Repeat("x", 128))
	block := make([]byte, 256<<10)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write(small) })
	mux.HandleFunc("/bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		w.Header().Set("Content-Length", strconv.Itoa(n))
		for ; n > 0; n -= len(block) {
			if _, err := w.Write(block[:min(n, len(block))]); err != nil {
				return
			}
		}
	})
	go http.Serve(l, mux)
	return l, nil
}

// client is where requests go: straight to the origin, or through a tunnel of the
// proxy that the environment names, as srt has it.
type client struct{ dial, connect, host string }

func newClient(addr string) client {
	c := client{dial: addr, host: addr}
	for _, name := range []string{"HTTP_PROXY", "http_proxy"} {
		if u, err := url.Parse(os.Getenv(name)); err == nil && u.Host != "" {
			c.host = "localhost:" + addr[strings.LastIndexByte(addr, ':')+1:]
			pass, _ := u.User.Password()
			login := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + pass))
			c.dial = u.Host
			c.connect = fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n", c.host, c.host, login)
		}
	}
	return c
}

// runLoad measures and prints.
func runLoad(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s ADDRESS", loadName)
	}
	c := newClient(args[0])
	var l load
	var err error
	for _, step := range []func() error{
		c.ready,
		func() error { return c.fresh(20, nil) }, // warm up
		func() (err error) { l.Bulk, err = c.bulk(); return err },
		func() error { var t times; err := c.fresh(freshCount, &t); l.Fresh = t.median(); return err },
		func() (err error) { l.Alive, err = c.alive(); return err },
		func() (err error) { l.Many, err = c.many(); return err },
	} {
		if err = step(); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(l)
}

// conn is one connection of a client.
type conn struct {
	net.Conn
	r *bufio.Reader
	c client
}

func (c client) open() (*conn, error) {
	n, err := net.DialTimeout("tcp", c.dial, 5*time.Second)
	if err != nil {
		return nil, err
	}
	n.SetDeadline(time.Now().Add(30 * time.Second))
	opened := &conn{n, bufio.NewReaderSize(n, 64<<10), c}
	if c.connect == "" {
		return opened, nil
	}
	if _, err := io.WriteString(n, c.connect); err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		line, err := opened.r.ReadString('\n')
		if err != nil || first && !strings.Contains(line, " 200 ") {
			return nil, fmt.Errorf("the proxy says %q: %w", line, err)
		}
		if len(line) == 2 {
			return opened, nil
		}
	}
}

// get sends one request and reads the whole answer.
func (n *conn) get(path, extra string) (int64, error) {
	if _, err := fmt.Fprintf(n, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, n.c.host, extra); err != nil {
		return 0, err
	}
	length := int64(-1)
	for {
		line, err := n.r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) == 2 {
			break
		}
		if name, v, ok := strings.Cut(string(line), ":"); ok && strings.EqualFold(name, "content-length") {
			if length, err = strconv.ParseInt(strings.TrimSpace(v), 10, 64); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, fmt.Errorf("an answer without a length")
	}
	if length < 1<<16 {
		d, err := n.r.Discard(int(length))
		return int64(d), err
	}
	return io.CopyN(io.Discard, n.r, length)
}

// ready waits until somebody answers: srt starts its proxy beside the command.
func (c client) ready() (err error) {
	for range 50 {
		if err = c.fresh(1, nil); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func (c client) bulk() (float64, error) {
	n, err := c.open()
	if err != nil {
		return 0, err
	}
	defer n.Close()
	began := time.Now()
	got, err := n.get(fmt.Sprintf("/bytes/%d", bulkBytes), "Connection: close\r\n")
	return float64(got) / time.Since(began).Seconds(), err
}

func (c client) fresh(count int, into *times) error {
	for range count {
		began := time.Now()
		n, err := c.open()
		if err != nil {
			return err
		}
		if _, err = n.get("/", "Connection: close\r\n"); err != nil {
			return err
		}
		n.Close()
		if into != nil {
			*into = append(*into, time.Since(began).Seconds())
		}
	}
	return nil
}

func (c client) alive() (float64, error) {
	n, err := c.open()
	if err != nil {
		return 0, err
	}
	defer n.Close()
	var t times
	for range aliveCount {
		began := time.Now()
		if _, err := n.get("/", ""); err != nil {
			return 0, err
		}
		t = append(t, time.Since(began).Seconds())
	}
	return t.median(), nil
}

func (c client) many() (float64, error) {
	var wg sync.WaitGroup
	var count atomic.Int64
	failed := make(chan error, manyConns)
	began := time.Now()
	for range manyConns {
		wg.Go(func() {
			n, err := c.open()
			if err != nil {
				failed <- err
				return
			}
			defer n.Close()
			for time.Since(began) < manyTime {
				if _, err := n.get("/", ""); err != nil {
					failed <- err
					return
				}
				count.Add(1)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return 0, err
	default:
		return float64(count.Load()) / time.Since(began).Seconds(), nil
	}
}

// medianOf is the median of one figure over rounds.
func medianOf(l []load, of func(load) float64) float64 {
	var t times
	for _, x := range l {
		t = append(t, of(x))
	}
	slices.Sort(t)
	return t.median()
}
