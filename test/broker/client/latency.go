package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// latency measures, in nanoseconds, how long the first byte of a stream takes to come.
func latency(args []string) error {
	rounds, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var times []int64
	first := make([]byte, 1)
	for range rounds {
		r, err := http.NewRequest("POST", os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", strings.NewReader(args[1]))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+os.Getenv("ANTHROPIC_AUTH_TOKEN"))
		r.Header.Set("Content-Type", "application/json")
		began := time.Now()
		resp, err := direct.Do(r)
		if err != nil {
			return err
		}
		if _, err := io.ReadFull(resp.Body, first); err != nil {
			return err
		}
		times = append(times, time.Since(began).Nanoseconds())
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return json.NewEncoder(os.Stdout).Encode(times)
}
