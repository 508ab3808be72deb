package mcp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"
)

// Client is the name of the program that an agent starts inside in place of a server:
// `ringfence-mcp NAME`. It guards nothing: whoever can run it can speak to the
// supervisor without it. A name is all that it can ask for.
const Client = "ringfence-mcp"

// Protocol is what the connection is upgraded to.
const Protocol = "ringfence-mcp"

// IsClient reports whether argv0 is the client's name.
func IsClient(argv0 string) bool { return filepath.Base(argv0) == Client }

// ClientMain asks the supervisor at addr for the server that args name, and carries
// bytes until either side ends. It returns the exit status.
func ClientMain(args []string, stdin io.Reader, stdout, stderr io.Writer, addr string) int {
	if len(args) != 2 {
		fmt.Fprintf(stderr, "usage: %s NAME\n", Client)
		return 2
	}
	if err := connect(args[1], stdin, stdout, addr); err != nil {
		fmt.Fprintf(stderr, "ringfence: MCP server %s: %v\n", args[1], err)
		return 1
	}
	return 0
}

func connect(name string, stdin io.Reader, stdout io.Writer, addr string) error {
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return fmt.Errorf("the supervisor cannot be reached: %w", err)
	}
	defer c.Close()
	q, err := http.NewRequest(http.MethodGet, "http://"+addr+"/mcp/"+name, nil)
	if err != nil {
		return err
	}
	q.Header.Set("Connection", "Upgrade")
	q.Header.Set("Upgrade", Protocol)
	if err := q.Write(c); err != nil {
		return err
	}
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, q)
	if err != nil {
		return fmt.Errorf("the supervisor does not answer: %w", err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10)) // what there is of it
		resp.Body.Close()
		return fmt.Errorf("%s", strings.TrimPrefix(strings.TrimSpace(string(text)), "ringfence: "))
	}
	go func() {
		io.Copy(c, stdin) // an error here is the end of the connection, which the other half sees
		c.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stdout, r)
	return err
}
