package httpfwd

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Denial is what a refused client is told. All of it may be empty.
type Denial struct {
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
	Host   string `json:"host,omitempty"`
	Port   uint16 `json:"port,omitempty"`
	Ask    string `json:"ask,omitempty"`   // the command that a person could run
	Final  string `json:"final,omitempty"` // what makes it pointless to try again
}

// maxWord bounds each part of a refusal.
const maxWord = 512

// Refusal is a whole response that ends the connection: text, or JSON for those who
// ask for it. Programs can tell it from the origin's own by X-Ringfence.
func Refusal(status int, phrase, accept string, d Denial) []byte {
	if status < 400 || status > 599 {
		status, phrase = 403, "Forbidden"
	}
	for _, s := range []*string{&phrase, &d.Rule, &d.Reason, &d.Host, &d.Ask, &d.Final} {
		*s = printable(*s)
	}
	what := "denied"
	if status == 502 { // it was allowed
		what = "not reached"
	}
	form, body := "text/plain; charset=utf-8", d.text(what)
	if wantsJSON(accept) {
		form, body = "application/json", d.json(what)
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n"+
		"Content-Type: %s\r\n"+
		"Content-Length: %d\r\n"+
		"Cache-Control: no-store\r\n"+
		"X-Ringfence: %s\r\n"+
		"Connection: close\r\n"+
		"\r\n%s", status, phrase, form, len(body), what, body)
}

func (d Denial) text(what string) string {
	var b strings.Builder
	b.WriteString("ringfence: " + what)
	if d.Host != "" {
		b.WriteString(": " + d.Host)
		if d.Port != 0 {
			fmt.Fprintf(&b, ":%d", d.Port)
		}
	}
	b.WriteByte('\n')
	for _, l := range []struct{ label, text string }{
		{"rule: ", d.Rule}, {"reason: ", d.Reason}, {"to allow it, the user can run: ", d.Ask}, {"", d.Final},
	} {
		if l.text != "" {
			b.WriteString(l.label + l.text + "\n")
		}
	}
	return b.String()
}

func (d Denial) json(what string) string {
	out, err := json.Marshal(struct {
		Error string `json:"error"`
		Denial
	}{what + " by ringfence", d})
	if err != nil { // strings and a number do not fail
		panic(err)
	}
	return string(out) + "\n"
}

// printable makes s fit for a header, a terminal and a page: what was refused is
// often the client's own words.
func printable(s string) string {
	b := []byte(s[:min(len(s), maxWord)])
	for i := range b {
		if b[i] < ' ' || b[i] > '~' {
			b[i] = '?'
		}
	}
	return string(b)
}
