package sessions

import (
	"bytes"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/session/control"
)

// TestServersAreCounted: an agent that listens at every port fills no screen.
func TestServersAreCounted(t *testing.T) {
	all := make([]control.Server, 1000)
	all[999].Published = 8080
	var out bytes.Buffer
	showServers(&out, "demo", all)
	if lines := bytes.Count(out.Bytes(), []byte("\n")); lines != maxShownServers+2 || !bytes.Contains(out.Bytes(), []byte("and 991 ports more")) || !bytes.Contains(out.Bytes(), []byte("localhost:8080")) {
		t.Errorf("%d lines:\n%s", lines, out.String())
	}
}

// TestWriteRow: a row is set in lines of 80 columns, behind its key.
func TestWriteRow(t *testing.T) {
	var b strings.Builder
	WriteRow(&b, control.Row{Key: "passed", Text: "nothing"})
	WriteRow(&b, control.Row{Key: "set", Text: "A B " + strings.Repeat("LONG_NAME_OF_20_CHAR ", 4), List: true})
	WriteRow(&b, control.Row{Text: "one\x1b[31m"})
	want := "  passed     nothing\n  set        A B LONG_NAME_OF_20_CHAR LONG_NAME_OF_20_CHAR LONG_NAME_OF_20_CHAR\n             LONG_NAME_OF_20_CHAR\n" +
		"             one\\u001b[31m\n"
	if b.String() != want {
		t.Errorf("%q, not %q", b.String(), want)
	}
}
