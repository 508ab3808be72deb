package httpfwd_test

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// BenchmarkHead is what the gate does for each request: a small GET as curl and as
// a browser send it.
func BenchmarkHead(b *testing.B) {
	for name, raw := range map[string]string{
		"curl": "GET /path/to/thing?x=1 HTTP/1.1\r\nHost: allowed.test\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
		"browser": "GET /path/to/thing?x=1 HTTP/1.1\r\nHost: allowed.test\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n" +
			"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate\r\n" +
			"Connection: keep-alive\r\nCookie: a=" + strings.Repeat("b", 200) + "\r\nUpgrade-Insecure-Requests: 1\r\nPriority: u=0, i\r\nCache-Control: no-cache\r\n\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			src := strings.NewReader(raw)
			r := bufio.NewReader(src)
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(raw)
				r.Reset(src)
				h, err := httpfwd.ReadHead(r)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := h.Write(io.Discard, h.Host); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBody carries 64 MiB from one TCP connection to another.
func BenchmarkBody(b *testing.B) {
	const size = 64 << 20
	part := bytes.Repeat([]byte("x"), 64<<10)
	for name, length := range map[string]int64{"length": size, "chunked": httpfwd.Chunked} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				client, in := pair(b)
				out, origin := pair(b)
				go func() {
					for range size / len(part) {
						if length < 0 {
							io.WriteString(client, "10000\r\n")
						}
						client.Write(part)
						if length < 0 {
							io.WriteString(client, "\r\n")
						}
					}
					io.WriteString(client, "0\r\n\r\n")
				}()
				done := make(chan struct{})
				go func() { io.Copy(io.Discard, origin); close(done) }()
				if _, err := httpfwd.CopyBody(out, bufio.NewReader(in), in, &httpfwd.Head{Length: length}); err != nil {
					b.Fatal(err)
				}
				out.Close()
				<-done
			}
		})
	}
}
