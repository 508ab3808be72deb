// Command guest is the only program of the emulated machine besides ringfence: its
// init, the server of the serial line, and the processes that limits are tried on.
package main

import (
	"fmt"
	"os"
)

func main() {
	if os.Getpid() == 1 {
		fmt.Println("guest:", boot()) // to the console, where the test looks for the reason
		halt()
	}
	commands := map[string]func([]string) error{
		"serve": serve, "put": put, "show": show, "group": group, "fork": fork, "hog": hog, "hold": hold, "watch": watch,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "guest: no such command: %q\n", os.Args[1:])
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}
