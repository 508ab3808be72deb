// Client is what the tests run inside: it makes requests and looks around.
package main

import (
	"fmt"
	"os"
)

func main() {
	verbs := map[string]func([]string) error{"calls": calls, "stream": stream, "search": search, "latency": latency}
	if len(os.Args) < 2 || verbs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "client: no such verb")
		os.Exit(2)
	}
	if err := verbs[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}
