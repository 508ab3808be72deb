package toolbox

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/session/launch"
)

// Client is the program inside that asks for a tool: `get-tool NAME`. It guards nothing:
// whoever can run it can ask the supervisor without it. A name is all that it can say.
const Client = launch.ToolClient

// IsClient reports whether argv0 is the client's name.
func IsClient(argv0 string) bool { return filepath.Base(argv0) == Client }

// Prefix is where the supervisor answers, below its endpoint.
const Prefix = "/tools"

const maxAnswer = 16 << 10

const usage = "usage: " + Client + " NAME, or SOURCE:NAME with debian, npm, pypi, go, crates or nix\n" +
	"It says where a command can come from, and asks for it. Without NAME it lists\nwhat is there."

// ClientMain asks the supervisor at addr. It returns the exit status: 0 where the tool is
// there.
func ClientMain(args []string, stdout, stderr io.Writer, addr string) int {
	if len(args) > 2 || len(args) == 2 && strings.HasPrefix(args[1], "-") {
		fmt.Fprintln(stderr, usage)
		return 2
	}
	if len(args) < 2 {
		return list(stdout)
	}
	text, ok, err := ask(args[1], addr)
	if err != nil {
		fmt.Fprintf(stderr, "ringfence: nobody here can be asked for tools (%v).\nTell the human: ringfence tools add SOURCE:%s\n", err, args[1])
		return 1
	}
	if !ok {
		fmt.Fprintln(stderr, text)
		return 1
	}
	fmt.Fprintln(stdout, text)
	return 0
}

// list prints the commands that are there.
func list(stdout io.Writer) int {
	entries, err := os.ReadDir(Bin)
	for _, e := range entries {
		if e.Name() != Client {
			fmt.Fprintln(stdout, e.Name())
		}
	}
	if err != nil {
		return 1
	}
	return 0
}

func ask(name, addr string) (text string, ok bool, err error) {
	tr := &http.Transport{Proxy: nil, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext}
	q, err := http.NewRequest(http.MethodPost, "http://"+addr+Prefix+"/"+url.PathEscape(name), nil)
	if err != nil {
		return "", false, err
	}
	resp, err := tr.RoundTrip(q)
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return strings.TrimSpace(string(b)), resp.StatusCode == http.StatusOK, err
}
