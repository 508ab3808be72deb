package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// stream reads events one by one and says over another request which it has. A server
// that sends the next one only then is never heard to the end where anybody in
// between waits for more.
func stream(args []string) error {
	base, token := os.Getenv("ANTHROPIC_BASE_URL"), os.Getenv("ANTHROPIC_AUTH_TOKEN")
	post := func(path, body string) (*http.Response, error) {
		r, err := http.NewRequest("POST", base+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		return direct.Do(r)
	}
	resp, err := post("/v1/messages", `{"model":"m","stream":true,"messages":[]}`)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		event, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		fmt.Println(event)
		ack, err := post("/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"`+event+`"}]}`)
		if err != nil {
			return err
		}
		ack.Body.Close()
	}
	return lines.Err()
}
