package h2c_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/net/http2/hpack"

	"ringfence.dev/ringfence/internal/network/h2c"
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The types and flags that the tests use.
const (
	data, headers, priority, reset, settings, push, ping, goAway, window, continuation = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

	endStream, ack, endHeaders, padded, weighed = 1, 1, 4, 8, 0x20
)

func frame(kind, flags byte, stream uint32, payload string) string {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return string(binary.BigEndian.AppendUint32(b, stream)) + payload
}

// hello is what every connection begins with.
var hello = preface + frame(settings, 0, 0, "")

// encoder is a client's HPACK, one for a connection.
type encoder struct {
	buf bytes.Buffer
	enc *hpack.Encoder
}

func newEncoder() *encoder {
	e := &encoder{}
	e.enc = hpack.NewEncoder(&e.buf)
	return e
}

// block encodes fields, given as "name: value".
func (e *encoder) block(fields ...string) string {
	e.buf.Reset()
	for _, f := range fields {
		i := strings.Index(f[1:], ":") + 1
		e.enc.WriteField(hpack.HeaderField{Name: f[:i], Value: strings.TrimPrefix(f[i+1:], " ")})
	}
	return e.buf.String()
}

// get is the fields of a request to authority, and more.
func get(authority string, more ...string) []string {
	return append([]string{":method: GET", ":scheme: http", ":authority: " + authority, ":path: /"}, more...)
}

func block(fields ...string) string { return newEncoder().block(fields...) }

// one is a connection with one request of these fields.
func one(fields ...string) string {
	return hello + frame(headers, endHeaders|endStream, 1, block(fields...))
}

// run copies in with a judge that denies all but allowed.test.
func run(src io.Reader) (out string, judged int, err error) {
	var dst bytes.Buffer
	n, err := h2c.Copy(&dst, src, func(_, _, authority, _ string) error {
		judged++
		if authority != "allowed.test" {
			return errDenied
		}
		return nil
	})
	if n != int64(dst.Len()) {
		panic("the count is wrong")
	}
	return dst.String(), judged, err
}

func TestPasses(t *testing.T) {
	ok := block(get("allowed.test")...)
	post := block(get("allowed.test", "content-length: 5")...)
	size := strings.Repeat("x", 16384)
	weight := "\x00\x00\x00\x00\x10"
	half := len(ok) / 2
	for name, row := range map[string]struct {
		in     string
		judged int
	}{
		"nothing":            {"", 0},
		"preface alone":      {preface, 0},
		"one":                {one(get("allowed.test")...), 1},
		"host in place":      {one(":method: GET", ":scheme: http", ":path: /", "host: allowed.test"), 1},
		"host beside":        {one(get("allowed.test", "host: allowed.test")...), 1},
		"te, obs-text":       {one(get("allowed.test", "te: trailers", "x: \xe9", "y:")...), 1},
		"star":               {one(":method: OPTIONS", ":scheme: http", ":authority: allowed.test", ":path: *"), 1},
		"padded, weighed":    {hello + frame(headers, endHeaders|padded|weighed, 1, "\x02"+weight+ok+"\x00\x00"), 1},
		"continued":          {hello + frame(headers, endStream, 1, ok[:half]) + frame(continuation, 0, 1, "") + frame(continuation, endHeaders, 1, ok[half:]), 1},
		"all of the others":  {one(get("allowed.test")...) + frame(settings, ack, 0, "") + frame(settings, 0, 0, "\x00\x03\x00\x00\x00\x01") + frame(ping, 0, 0, "12345678") + frame(priority, 0, 7, weight) + frame(window, 0, 1, "\x00\x00\x00\x01") + frame(window, 0, 0, "\x00\x00\x00\x01") + frame(window, 0, 2, "\x00\x00\x00\x01") + frame(reset, 0, 1, "\x00\x00\x00\x08") + frame(goAway, 0, 0, "12345678why"), 1},
		"largest frames":     {hello + frame(headers, endHeaders, 1, ok) + frame(data, 0, 1, size) + frame(data, endStream, 1, size), 1},
		"padding is all":     {hello + frame(headers, endHeaders, 1, ok) + frame(data, padded|endStream, 1, "\x03\x00\x00\x00"), 1},
		"length kept":        {hello + frame(headers, endHeaders, 1, post) + frame(data, 0, 1, "hel") + frame(data, padded|endStream, 1, "\x01lo\x00"), 1},
		"trailers":           {hello + frame(headers, endHeaders, 1, post) + frame(data, 0, 1, "hello") + frame(headers, endHeaders|endStream, 1, block("x-sum: 1")), 1},
		"streams skip":       {hello + frame(headers, endHeaders|endStream, 5, ok) + frame(headers, endHeaders|endStream, 4097, block(get("allowed.test")...)), 2},
		"table grows":        {hello + frame(headers, endHeaders|endStream, 1, "\x3f\xe1\xff\x03"+ok), 1}, // to 65536
		"table size is zero": {hello + frame(headers, endHeaders|endStream, 1, "\x20"+ok), 1},
	} {
		t.Run(name, func(t *testing.T) {
			for _, src := range []io.Reader{strings.NewReader(row.in), iotest.OneByteReader(strings.NewReader(row.in)), iotest.DataErrReader(strings.NewReader(row.in))} {
				out, judged, err := run(src)
				if err != nil || out != row.in || judged != row.judged {
					t.Errorf("%v, %d judged, %d bytes of %d", err, judged, len(out), len(row.in))
				}
			}
		})
	}
}

// refusal is what a client sends: what passes of it and what does not.
type refusal struct{ good, bad string }

func badFrames() map[string]refusal {
	ok := block(get("allowed.test")...)
	open := hello + frame(headers, endHeaders, 1, ok)
	done := hello + frame(headers, endHeaders|endStream, 1, ok)
	whole := byte(endHeaders | endStream)
	return map[string]refusal{
		"HTTP/1":                    {"", "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"},
		"other preface":             {"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r" + frame(settings, 0, 0, "")},
		"no SETTINGS first":         {preface, frame(headers, whole, 1, ok)},
		"ACK first":                 {preface, frame(settings, ack, 0, "")},
		"frame too long":            {done, frame(settings, 0, 0, strings.Repeat("x", 65538))},
		"GOAWAY with a letter":      {done, frame(goAway, 0, 0, strings.Repeat("x", 8+129))},
		"control frames":            {done + strings.Repeat(frame(ping, 0, 0, "12345678"), 8000), frame(settings, 0, 0, strings.Repeat("\x00\x03\x00\x00\x00\x01", 300))},
		"reserved bit":              {done, frame(headers, whole, 3|1<<31, ok)},
		"unknown type":              {done, frame(0x10, 0, 0, "")},
		"PUSH_PROMISE":              {open, frame(push, endHeaders, 1, "\x00\x00\x00\x02"+ok)},
		"altsvc":                    {done, frame(0xa, 0, 0, "\x00\x00")},
		"HEADERS on stream 0":       {hello, frame(headers, whole, 0, ok)},
		"HEADERS on even stream":    {hello, frame(headers, whole, 2, ok)},
		"HEADERS on ended stream":   {done, frame(headers, whole, 1, ok)},
		"stream goes back":          {hello + frame(headers, whole, 5, ok), frame(headers, whole, 3, ok)},
		"second request on stream":  {open, frame(headers, whole, 1, ok)},
		"CONTINUATION of nothing":   {done, frame(continuation, endHeaders, 1, ok)},
		"CONTINUATION elsewhere":    {hello, frame(headers, endStream, 1, ok) + frame(continuation, endHeaders, 3, "")},
		"DATA in a block":           {hello, frame(headers, 0, 1, ok) + frame(data, 0, 1, "")},
		"PING in a block":           {hello, frame(headers, 0, 1, ok) + frame(ping, 0, 0, "12345678")},
		"PRIORITY in a block":       {hello, frame(headers, 0, 1, ok) + frame(priority, 0, 1, "12345") + frame(continuation, endHeaders, 1, "")},
		"HEADERS in a block":        {hello, frame(headers, 0, 1, ok) + frame(headers, endHeaders, 1, ok)},
		"unknown in a block":        {hello, frame(headers, 0, 1, ok) + frame(0x20, 0, 1, "")},
		"too many CONTINUATIONs":    {hello, frame(headers, 0, 1, ok) + strings.Repeat(frame(continuation, 0, 1, ""), 8) + frame(continuation, endHeaders, 1, "")},
		"too long CONTINUATIONs":    {hello, frame(headers, 0, 1, ok) + strings.Repeat(frame(continuation, 0, 1, strings.Repeat("\x82", 16384)), 4)},
		"padding too long":          {hello, frame(headers, whole|padded, 1, "\xff"+ok)},
		"padding without room":      {hello, frame(headers, whole|padded, 1, "")},
		"priority without room":     {hello, frame(headers, whole|weighed, 1, "\x00\x00")},
		"DATA padding too long":     {open, frame(data, padded, 1, "\x04abc")},
		"DATA padding without room": {open, frame(data, padded, 1, "")},
		"DATA on stream 0":          {open, frame(data, 0, 0, "x")},
		"DATA on idle stream":       {open, frame(data, 0, 3, "x")},
		"DATA on ended stream":      {done, frame(data, 0, 1, "x")},
		"DATA on reset stream":      {open + frame(reset, 0, 1, "1234"), frame(data, 0, 1, "x")},
		"RST_STREAM of idle":        {open, frame(reset, 0, 3, "1234")},
		"RST_STREAM of 0":           {open, frame(reset, 0, 0, "1234")},
		"RST_STREAM length":         {open, frame(reset, 0, 1, "12345")},
		"SETTINGS length":           {open, frame(settings, 0, 0, "12345")},
		"SETTINGS ACK length":       {open, frame(settings, ack, 0, "123456")},
		"SETTINGS on a stream":      {open, frame(settings, 0, 1, "")},
		"PING length":               {open, frame(ping, 0, 0, "1234567")},
		"GOAWAY length":             {open, frame(goAway, 0, 0, "1234567")},
		"PRIORITY length":           {open, frame(priority, 0, 1, "1234")},
		"WINDOW_UPDATE length":      {open, frame(window, 0, 1, "12345")},
		"WINDOW_UPDATE of idle":     {open, frame(window, 0, 3, "1234")},
	}
}

func badBlocks() map[string]refusal {
	ok := block(get("allowed.test")...)
	open := hello + frame(headers, endHeaders, 1, ok)
	five := hello + frame(headers, endHeaders, 1, block(get("allowed.test", "content-length: 5")...))
	whole := byte(endHeaders | endStream)
	request := func(fields ...string) string { return frame(headers, whole, 1, block(fields...)) }
	return map[string]refusal{
		"empty block":           {hello, request()},
		"two authorities":       {hello, request(get("allowed.test", ":authority: allowed.test")...)},
		"no authority":          {hello, request(":method: GET", ":scheme: http", ":path: /")},
		"empty authority":       {hello, request(get("")...)},
		"userinfo":              {hello, request(get("u@allowed.test")...)},
		"authority with path":   {hello, request(get("allowed.test/x")...)},
		"host differs":          {hello, request(get("allowed.test", "host: denied.test")...)},
		"two hosts":             {hello, request(get("allowed.test", "host: allowed.test", "host: allowed.test")...)},
		"two hosts alone":       {hello, request(":method: GET", ":scheme: http", ":path: /", "host: allowed.test", "host: denied.test")},
		"two methods":           {hello, request(":method: GET", ":method: GET", ":scheme: http", ":authority: allowed.test", ":path: /")},
		"two paths":             {hello, request(":method: GET", ":scheme: http", ":authority: allowed.test", ":path: /", ":path: /")},
		"two schemes":           {hello, request(":method: GET", ":scheme: http", ":scheme: http", ":authority: allowed.test", ":path: /")},
		"no method":             {hello, request(":scheme: http", ":authority: allowed.test", ":path: /")},
		"no path":               {hello, request(":method: GET", ":scheme: http", ":authority: allowed.test")},
		"no scheme":             {hello, request(":method: GET", ":authority: allowed.test", ":path: /")},
		"https":                 {hello, request(":method: GET", ":scheme: https", ":authority: allowed.test", ":path: /")},
		"CONNECT":               {hello, request(":method: CONNECT", ":authority: allowed.test")},
		"CONNECT with all":      {hello, request(":method: CONNECT", ":scheme: http", ":authority: allowed.test", ":path: /")},
		"extended CONNECT":      {hello, request(":method: CONNECT", ":protocol: websocket", ":scheme: http", ":authority: allowed.test", ":path: /")},
		"protocol":              {hello, request(":method: GET", ":protocol: websocket", ":scheme: http", ":authority: allowed.test", ":path: /")},
		"TRACE":                 {hello, request(":method: TRACE", ":scheme: http", ":authority: allowed.test", ":path: /")},
		"method with a line":    {hello, request(":method: GET / HTTP/1.1\r\nHost: denied.test", ":scheme: http", ":authority: allowed.test", ":path: /")},
		"path with a space":     {hello, request(":method: GET", ":scheme: http", ":authority: allowed.test", ":path: / HTTP/1.1")},
		"path absolute":         {hello, request(":method: GET", ":scheme: http", ":authority: allowed.test", ":path: http://denied.test/")},
		"path of two slashes":   {hello, request(":method: GET", ":scheme: http", ":authority: allowed.test", ":path: //denied.test/")},
		"path with fragment":    {hello, request(":method: GET", ":scheme: http", ":authority: allowed.test", ":path: /#x")},
		"star with GET":         {hello, request(":method: GET", ":scheme: http", ":authority: allowed.test", ":path: *")},
		"response":              {hello, request(":status: 200")},
		"pseudo late":           {hello, request(":method: GET", ":scheme: http", "x: y", ":authority: allowed.test", ":path: /")},
		"pseudo unknown":        {hello, request(get("allowed.test", ":x: y")...)},
		"upper case":            {hello, request(get("allowed.test", "X: y")...)},
		"name with a colon":     {hello, frame(headers, whole, 1, ok+"\x00\x03a:b\x01c")},
		"name empty":            {hello, frame(headers, whole, 1, ok+"\x00\x00\x01c")},
		"name with CRLF":        {hello, frame(headers, whole, 1, ok+"\x00\x03a\r\n\x01c")},
		"value with CRLF":       {hello, request(get("allowed.test", "x: y\r\nhost: denied.test")...)},
		"value with NUL":        {hello, request(get("allowed.test", "x: y\x00")...)},
		"value ends in space":   {hello, request(get("allowed.test", "x: y ")...)},
		"transfer-encoding":     {hello, request(get("allowed.test", "transfer-encoding: chunked")...)},
		"connection":            {hello, request(get("allowed.test", "connection: close")...)},
		"upgrade":               {hello, request(get("allowed.test", "upgrade: websocket")...)},
		"te":                    {hello, request(get("allowed.test", "te: gzip")...)},
		"disguised":             {hello, request(get("allowed.test", "content_length: 5")...)},
		"two lengths":           {hello, frame(headers, endHeaders, 1, block(get("allowed.test", "content-length: 5", "content-length: 5")...))},
		"length malformed":      {hello, frame(headers, endHeaders, 1, block(get("allowed.test", "content-length: +5")...))},
		"length with zeros":     {hello, frame(headers, endHeaders, 1, block(get("allowed.test", "content-length: 05")...))},
		"length without body":   {hello, request(get("allowed.test", "content-length: 5")...)},
		"body too long":         {five, frame(data, 0, 1, "helloG")},
		"body too short":        {five + frame(data, 0, 1, "hell"), frame(data, endStream, 1, "")},
		"short by trailers":     {five + frame(data, 0, 1, "hell"), frame(headers, whole, 1, block("x: y"))},
		"trailers go on":        {open, frame(headers, endHeaders, 1, block("x: y"))},
		"trailers pseudo":       {open, frame(headers, whole, 1, block(":path: /"))},
		"trailers frame":        {open, frame(headers, whole, 1, block("content-length: 1"))},
		"trailers route":        {open, frame(headers, whole, 1, block("host: denied.test"))},
		"HPACK index":           {hello, frame(headers, whole, 1, ok+"\xff\x00")},
		"HPACK index huge":      {hello, frame(headers, whole, 1, ok+"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")},
		"HPACK cut":             {hello, frame(headers, whole, 1, ok+"\x00\x05a")},
		"HPACK huffman":         {hello, frame(headers, whole, 1, ok+"\x00\x84\xff\xff\xff\xff\x01c")},
		"HPACK table too large": {hello, frame(headers, whole, 1, "\x3f\xe2\xff\x03"+ok)},
		"HPACK table late":      {hello, frame(headers, whole, 1, block(get("allowed.test", "x: y")...)+"\x3f\xe1\x1f")},
	}
}

// TestRefuses: what is bad is refused, and nothing of it passes after all that was
// good before it.
func TestRefuses(t *testing.T) {
	rows := badFrames()
	maps.Copy(rows, badBlocks())
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			in := row.good + row.bad
			for _, src := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
				out, _, err := run(src)
				if !errors.Is(err, h2c.ErrMalformed) || out != row.good {
					t.Errorf("%v, %d bytes passed, %d are good", err, len(out), len(row.good))
				}
			}
		})
	}
}

// TestDenied: the judge's word stops a block however it is cut, and what was before
// it passes.
func TestDenied(t *testing.T) {
	e := newEncoder()
	good := hello + frame(headers, endHeaders|endStream, 1, e.block(get("allowed.test")...))
	bad := e.block(get("denied.test")...)
	for name, second := range map[string]string{
		"whole":     frame(headers, endHeaders|endStream, 3, bad),
		"continued": frame(headers, endStream, 3, bad[:3]) + frame(continuation, endHeaders, 3, bad[3:]),
		"late":      frame(headers, endStream, 3, bad) + frame(continuation, endHeaders, 3, ""),
	} {
		out, judged, err := run(strings.NewReader(good + second + frame(ping, 0, 0, "12345678")))
		if !errors.Is(err, errDenied) || errors.Is(err, h2c.ErrMalformed) || out != good || judged != 2 {
			t.Errorf("%s: %v, %d judged, %d bytes of %d", name, err, judged, len(out), len(good))
		}
	}
}

// TestAuthorityFromTable: a name that comes by index from an earlier block is judged
// like one that is spelled out.
func TestAuthorityFromTable(t *testing.T) {
	e := newEncoder()
	in := hello
	for id, authority := range []string{"allowed.test", "denied.test", "allowed.test", "denied.test"} {
		b := e.block(get(authority)...)
		if id > 1 && len(b) != 4 {
			t.Errorf("the block of %d bytes does not use the table", len(b))
		}
		in += frame(headers, endHeaders|endStream, uint32(2*id+1), b)
	}
	var judged []string
	_, err := h2c.Copy(io.Discard, strings.NewReader(in), func(_, _, authority, _ string) error {
		judged = append(judged, authority)
		return nil
	})
	if got := strings.Join(judged, " "); err != nil || got != "allowed.test denied.test allowed.test denied.test" {
		t.Errorf("%v, judged %s", err, got)
	}
}

func TestTooManyOpenStreams(t *testing.T) {
	e := newEncoder()
	var in strings.Builder
	in.WriteString(hello)
	for i := range uint32(1024) {
		in.WriteString(frame(headers, endHeaders, 2*i+1, e.block(get("allowed.test")...)))
	}
	if _, judged, err := run(strings.NewReader(in.String())); err != nil || judged != 1024 {
		t.Fatalf("%v, %d judged", err, judged)
	}
	again := in.String() + frame(reset, 0, 7, "1234") + frame(headers, endHeaders, 2049, e.block(get("allowed.test")...))
	if _, judged, err := run(strings.NewReader(again)); err != nil || judged != 1025 {
		t.Fatalf("%v, %d judged", err, judged)
	}
	in.WriteString(frame(headers, endHeaders, 2049, e.block(get("allowed.test")...)))
	if _, judged, err := run(strings.NewReader(in.String())); !errors.Is(err, h2c.ErrMalformed) || judged != 1024 {
		t.Errorf("%v, %d judged", err, judged)
	}
}

// TestBomb: a few bytes that stand for many are counted by what they stand for.
func TestBomb(t *testing.T) {
	e := newEncoder()
	first := e.block(get("allowed.test", "x: "+strings.Repeat("~", 3000))...)
	in := hello + frame(headers, endHeaders|endStream, 1, first)
	for times, good := range map[int]bool{10: true, 10_000: false} {
		bomb := frame(headers, endHeaders|endStream, 3, "\x82\x86\x84\xbf"+strings.Repeat("\xbe", times))
		out, judged, err := run(strings.NewReader(in + bomb))
		if good && (err != nil || out != in+bomb) {
			t.Errorf("%d times: %v", times, err)
		}
		if !good && (!errors.Is(err, h2c.ErrMalformed) || out != in || judged != 1) {
			t.Errorf("%d times: %v, %d bytes of %d", times, err, len(out), len(in))
		}
	}
}

func TestCutShort(t *testing.T) {
	ok := block(get("allowed.test")...)
	in := hello + frame(headers, 0, 1, ok[:2]) + frame(continuation, endHeaders, 1, ok[2:]) + frame(data, padded, 1, "\x01ab\x00") + frame(ping, 0, 0, "12345678")
	whole := map[int]bool{0: true, len(preface): true, len(hello): true, len(hello) + 18 + len(ok): true, len(hello) + 18 + len(ok) + 13: true}
	for n := range len(in) {
		out, _, err := run(strings.NewReader(in[:n]))
		if !strings.HasPrefix(in, out) || (err == nil) != whole[n] || err != nil && err != io.ErrUnexpectedEOF {
			t.Errorf("%d: %v, %q", n, err, out)
		}
	}
	broken := errors.New("broken")
	if _, _, err := run(io.MultiReader(strings.NewReader(hello), iotest.ErrReader(broken))); err != broken {
		t.Errorf("%v", err)
	}
	if _, err := h2c.Copy(failing{broken}, strings.NewReader(in), func(_, _, _, _ string) error { return nil }); err != broken {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestDoesNotWait: what has come and may pass, passes before more is waited for.
func TestDoesNotWait(t *testing.T) {
	ok := block(get("allowed.test")...)
	pr, pw := io.Pipe()
	or, ow := io.Pipe()
	go h2c.Copy(ow, pr, func(_, _, _, _ string) error { return nil })
	for _, part := range []string{hello, frame(headers, endHeaders, 1, ok), frame(data, 0, 1, "0123456789")[:12], "3456", "789"} {
		go io.WriteString(pw, part)
		got := make([]byte, len(part))
		if _, err := io.ReadFull(or, got); err != nil || string(got) != part {
			t.Fatalf("%q of %q, %v", got, part, err)
		}
	}
	pr.Close()
	or.Close()
}
