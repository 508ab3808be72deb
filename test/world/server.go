package world

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"
)

// The plain servers. They are at these ports of every address.
const (
	EchoPort   = 7  // sends back what it gets
	DigestPort = 9  // is silent until the client has sent everything, then says its SHA-256
	SourcePort = 19 // reads a number in a line, then sends that many bytes of Pattern
)

// Pattern is a stream of bytes that is the same every time and nowhere alike.
func Pattern(n int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{}), n) }

func echo(c net.Conn) { io.Copy(c, c) }

func digest(c net.Conn) {
	sum, err := digestOf(c)
	if err == nil {
		fmt.Fprintln(c, sum)
	}
}

// digestOf is the SHA-256 of what is read, in hexadecimal.
func digestOf(r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

func source(c net.Conn) {
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
		io.Copy(c, Pattern(n))
	}
}

// canary says who it is and listens.
func canary(c net.Conn) {
	c.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(c, "canary %s\n", c.LocalAddr())
	io.Copy(io.Discard, c)
}
