package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

// serve greets whoever comes, until it is killed.
func serve(args []string) error {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		fmt.Fprintf(c, "hello from %s\n", l.Addr())
		c.Close()
	}
}

func dial(address string) (*net.TCPConn, error) {
	c, err := net.DialTimeout("tcp", address, wait.Patience)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(wait.Patience))
	return c.(*net.TCPConn), nil
}

// greeting prints what a server says by itself.
func greeting(args []string) error {
	c, err := dial(args[0])
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.Copy(os.Stdout, c)
	return err
}

// pattern is a stream that the far side knows too.
func pattern(n int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{}), n) }

// send sends so many bytes, says that this was all, and only then is answered.
func send(args []string) error {
	n, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	c, err := dial(args[0])
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.Copy(c, pattern(n)); err != nil {
		return err
	}
	if err := c.CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, c)
	return err
}

// receive asks for so many bytes and prints their digest.
func receive(args []string) error {
	c, err := dial(args[0])
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := fmt.Fprintln(c, args[1]); err != nil {
		return err
	}
	h := sha256.New()
	if _, err := io.Copy(h, c); err != nil {
		return err
	}
	fmt.Printf("%x\n", h.Sum(nil))
	return nil
}

// parallel opens all connections before it uses any, then sends something else over
// each and compares what comes back.
func parallel(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var open, done sync.WaitGroup
	open.Add(n)
	errs := make([]error, n)
	for i := range n {
		done.Go(func() { errs[i] = exchange(args[0], i, &open) })
	}
	done.Wait()
	good := 0
	for _, err := range errs {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		good++
	}
	fmt.Println(good, "good")
	return nil
}

func exchange(address string, i int, open *sync.WaitGroup) error {
	c, err := dial(address)
	open.Done()
	if err != nil {
		return err
	}
	defer c.Close()
	open.Wait()
	want := bytes.Repeat([]byte(fmt.Sprintf("connection %d\n", i)), 5000)
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(want)
		c.CloseWrite()
		sent <- err
	}()
	got, err := io.ReadAll(c)
	if err != nil {
		return err
	}
	if err := <-sent; err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("connection %d: %d bytes came back, not the %d that were sent", i, len(got), len(want))
	}
	return nil
}
