// Command client is the sandboxed side of the tests in package clients: programs
// that use no library of the machine, and a few that do what no common tool does.
package main

import (
	"fmt"
	"os"
)

var commands = map[string]func(args []string) error{
	"get":      get,      // URL CA: net/http
	"raw":      raw,      // HOST: DNS by hand, then TCP
	"udp":      udp,      // ADDRESS: one packet, then wait for an answer
	"ping":     ping,     // ADDRESS
	"serve":    serve,    // ADDRESS: greet whoever comes
	"greeting": greeting, // ADDRESS: what a server says
	"send":     send,     // ADDRESS N: send N bytes, end, read the digest
	"receive":  receive,  // ADDRESS N: ask for N bytes, print their digest
	"parallel": parallel, // ADDRESS N: N connections, all open at once
}

func main() {
	do := func([]string) error { return fmt.Errorf("unknown command %q", os.Args[1:]) }
	if len(os.Args) > 1 && commands[os.Args[1]] != nil {
		do = commands[os.Args[1]]
	}
	if err := do(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}
