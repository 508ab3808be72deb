// Command guest is the only program of the emulated machine besides ringfence: its
// init, the server of the serial line, the loader of modules, and the processes that
// limits and walls are tried on.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if os.Getpid() == 1 {
		fmt.Println("guest:", boot()) // to the console, where the test looks for the reason
		halt()
	}
	commands := map[string]func([]string) error{
		"serve": serve, "put": put, "show": show, "group": group, "fork": fork, "hog": hog, "hold": hold, "watch": watch,
		"bait": bait, "bite": bite, "modprobe": modprobe,
	}
	args := os.Args[1:]
	if called := filepath.Base(os.Args[0]); called == "modprobe" { // where the kernel looks for it
		args = append([]string{called}, args...)
	}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprintf(os.Stderr, "guest: no such command: %q\n", args)
		os.Exit(2)
	}
	if err := commands[args[0]](args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}
