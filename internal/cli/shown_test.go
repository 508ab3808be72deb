package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/internal/cli/command"
)

// shown is what a terminal gets to see, or a pipe.
func shown(t *testing.T, person bool, home string, do func(c *command.Console)) string {
	t.Helper()
	from, to, err := os.Pipe()
	if person {
		from, to, err = pty.Open()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	done := make(chan string)
	go func() {
		var b bytes.Buffer
		io.Copy(&b, from) // a terminal ends in an error
		done <- strings.ReplaceAll(b.String(), "\r\n", "\n")
	}()
	do(&command.Console{In: to, Out: to, Err: to, Environ: []string{"TERM=xterm", "HOME=" + home}})
	to.Close()
	return <-done
}
