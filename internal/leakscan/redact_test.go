package leakscan_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"ringfence.dev/ringfence/internal/leakscan"
)

func TestRedact(t *testing.T) {
	const secret = "tok/en+0123456789<abc>"
	s := set(t, leakscan.Named{Name: "one", Secret: secret}, leakscan.Named{Name: "two", Secret: "abcabcabcabc"})
	stars := func(n int) string { return strings.Repeat("*", n) }
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + secret))
	for text, want := range map[string]string{
		"":                            "",
		"nothing":                     "nothing",
		secret:                        stars(len(secret)),
		"a " + secret + secret + " b": "a " + stars(2*len(secret)) + " b",
		secret[:21]:                   secret[:21],
		secret[:21] + "!":             secret[:21] + "!",
		secret[:5] + secret + "x":     secret[:5] + stars(len(secret)) + "x",
		`{"k":"tok\/en+0123456789\u003cabc\u003e"}`: `{"k":"` + stars(len(`tok\/en+0123456789\u003cabc\u003e`)) + `"}`,
		"?k=tok%2fen%2b0123456789%3cabc%3e&":        "?k=" + stars(30) + "&",
		"tok/en+0123456789&lt;abc&gt;":              stars(28),
		"Basic " + basic:                            "Basic " + basic[:7] + stars(len(basic)-7),
		"xabcabcabcabcabcx":                         "x" + stars(15) + "x", // two, one over the other
		"abcabcabcabx":                              "abcabcabcabx",
	} {
		if got := s.Redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// arrivals keeps each write apart.
type arrivals []string

func (a *arrivals) Write(p []byte) (int, error) {
	*a = append(*a, string(p))
	return len(p), nil
}

// TestEventsPassAtOnce: what cannot be the beginning of a secret is not held back, and
// what can be is held back alone.
func TestEventsPassAtOnce(t *testing.T) {
	s := set(t, leakscan.Named{Name: "key", Secret: "sk-ant-0123456789"})
	for _, c := range []struct {
		name       string
		sent, want []string
	}{
		{"events", []string{"data: {\"a\":1}\n\n", "data: [DONE]\n\n"}, []string{"data: {\"a\":1}\n\n", "data: [DONE]\n\n"}},
		{"a beginning that is none", []string{"risk", "y"}, []string{"ri", "sky"}},
		{"a beginning that is one", []string{"key: sk-", "ant-01234", "56789\n"}, []string{"key: ", "*****************\n"}},
		{"a beginning at the end", []string{"key: sk-"}, []string{"key: ", "sk-"}},
	} {
		var got arrivals
		w := s.Writer(&got)
		for _, chunk := range c.sent {
			kept := strings.Clone(chunk)
			b := []byte(chunk)
			if n, err := w.Write(b); n != len(chunk) || err != nil {
				t.Fatal(n, err)
			}
			if string(b) != kept {
				t.Errorf("%s: what was written is changed to %q", c.name, b)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got = slices.DeleteFunc(got, func(s string) bool { return s == "" }); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q arrives as %q, want %q", c.name, c.sent, got, c.want)
		}
	}
}

func TestReader(t *testing.T) {
	secret := six()[0].Secret
	s := set(t, six()[0])
	text := "x" + secret + "y" + secret[:9] + "z" + secret
	want := s.Redact(text)
	broken := errors.New("broken")
	for name, r := range map[string]io.Reader{
		"at once":         strings.NewReader(text),
		"byte by byte":    iotest.OneByteReader(strings.NewReader(text)),
		"half":            iotest.HalfReader(strings.NewReader(text)),
		"error with data": iotest.DataErrReader(strings.NewReader(text)),
		"error at last":   io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)),
	} {
		reader := s.Reader(r)
		got, err := io.ReadAll(reader)
		if string(got) != want || err != nil && !errors.Is(err, broken) || (name == "error at last") != (err != nil) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
		if hidden := reader.Hidden(); !slices.Equal(hidden, []string{six()[0].Name}) {
			t.Errorf("%s: hidden are %q", name, hidden)
		}
	}
	if err := iotest.TestReader(s.Reader(strings.NewReader(text)), []byte(want)); err != nil {
		t.Error(err)
	}
	if bytes.Contains([]byte(want), []byte(secret)) {
		t.Error("the secret is still there")
	}
}

func TestWriterTellsErrors(t *testing.T) {
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := set(t, six()...).Writer(w).Write([]byte("....")); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("wrote %d, %v", n, err)
	}
}
