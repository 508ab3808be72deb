// Command model stands in for an agent in a test: it serves a scripted model on
// the loopback of the sandbox, then starts the real agent against it. It speaks
// as much of each vendor's protocol as its agent needs to be told to use a tool.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// scriptFile lies in the directory where the agent is started, and so does
// logFile, which takes what the agent asked, one request a line.
const (
	scriptFile = ".model.json"
	logFile    = ".model.log"
)

// script is what the test wants.
type script struct {
	Agent string            // the real agent
	Env   map[string]string // for it; {URL} is the address of the model
	Turns []turn            // answers, one a request; the last one is repeated
}

// turn is an answer: a call of a tool, or else text.
type turn struct {
	Tool  string
	Input json.RawMessage
	Text  string
}

func main() {
	status, err := play()
	if err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		os.Exit(99)
	}
	os.Exit(status)
}

func play() (int, error) {
	data, err := os.ReadFile(scriptFile)
	if err != nil {
		return 0, err
	}
	var s script
	if err := json.Unmarshal(data, &s); err != nil {
		return 0, fmt.Errorf("%s: %w", scriptFile, err)
	}
	log, err := os.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	go http.Serve(listener, &model{script: s, log: log})
	return s.run("http://" + listener.Addr().String())
}

// run starts the agent as the user would, with the address of the model filled in.
func (s *script) run(url string) (int, error) {
	fill := strings.NewReplacer("{URL}", url)
	cmd := exec.Command(s.Agent)
	for _, arg := range os.Args[1:] {
		cmd.Args = append(cmd.Args, fill.Replace(arg))
	}
	cmd.Env = os.Environ()
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+fill.Replace(value))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
