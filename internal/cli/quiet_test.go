package cli

import (
	"io"
	golog "log"
	"os"
	"testing"
)

// A server that breaks off in the middle, or says what nobody asked for, has net/http
// write to the usual log, which is the terminal.
func TestLibrariesAreQuiet(t *testing.T) {
	was := golog.Writer()
	defer golog.SetOutput(was)
	golog.SetOutput(os.Stderr)
	newConsole(os.Stdin, os.Stdout, os.Stderr)
	if golog.Writer() != io.Discard {
		t.Error("what libraries log reaches the terminal")
	}
}
