package cpio

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	var got bytes.Buffer
	if err := Write(&got, map[string]Entry{"a/b": {Mode: 0o755, UID: 7, Data: []byte("hello")}}); err != nil {
		t.Fatal(err)
	}
	zero := strings.Repeat("0", 8)
	field := func(n int) string { return fmt.Sprintf("%08x", n) }
	want := "070701" + field(1) + field(0o040755) + zero + zero + field(1) + zero + zero + strings.Repeat(zero, 4) + field(2) + zero + "a\x00" +
		"070701" + field(2) + field(0o100755) + field(7) + field(7) + field(1) + zero + field(5) + strings.Repeat(zero, 4) + field(4) + zero + "a/b\x00\x00\x00" + "hello\x00\x00\x00" +
		"070701" + zero + field(0o100000) + zero + zero + field(1) + zero + zero + strings.Repeat(zero, 4) + field(11) + zero + "TRAILER!!!\x00\x00\x00\x00"
	if got.String() != want {
		t.Errorf("got  %q\nwant %q", got.String(), want)
	}
}
