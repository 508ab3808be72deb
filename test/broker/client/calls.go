package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing/iotest"
	"time"

	"ringfence.dev/ringfence/test/broker/client/call"
)

// direct asks nothing of the environment: no proxy, and no redirect is followed.
var direct = &http.Client{
	Transport: &http.Transport{ForceAttemptHTTP2: true, DisableCompression: true},
	Timeout:   time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// calls makes the requests of a file and writes the answers to another.
func calls(args []string) error {
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var list []call.Call
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	var out []call.Answer
	for _, c := range list {
		out = append(out, make1(c))
	}
	if data, err = json.Marshal(out); err != nil {
		return err
	}
	return os.WriteFile(args[1], data, 0o644)
}

func make1(c call.Call) call.Answer {
	a := call.Answer{Name: c.Name}
	r, err := request(c)
	if err != nil {
		a.Err = err.Error()
		return a
	}
	resp, err := direct.Do(r)
	if err != nil {
		a.Err = err.Error()
		return a
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Err = err.Error()
	}
	a.Status, a.Header, a.Body = resp.StatusCode, resp.Header, string(b)
	return a
}

func request(c call.Call) (*http.Request, error) {
	text := strings.Replace(os.ExpandEnv(c.Body), "@PAD@", strings.Repeat("x", c.Pad), 1)
	var body io.Reader
	if text != "" {
		body = strings.NewReader(text)
	}
	if c.Slow {
		body = iotest.OneByteReader(body)
	}
	r, err := http.NewRequest(c.Method, os.ExpandEnv(c.URL), body)
	if err != nil {
		return nil, err
	}
	for name, value := range c.Header {
		r.Header.Set(name, os.ExpandEnv(value))
	}
	if h := r.Header.Get("Host"); h != "" {
		r.Host = h
	}
	return r, nil
}
