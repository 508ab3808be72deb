package git

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// BenchmarkClone clones a repository of some 200 MB straight from the forge and
// through the handler, in turn, and reports how fast the second is in percent of
// the first.
func BenchmarkClone(b *testing.B) {
	w := newWorld(b)
	seed, r := w.path("seed/"+own), rand.NewChaCha8([32]byte{1})
	buf := make([]byte, 5<<20)
	for i := range 40 { // what does not compress
		r.Read(buf)
		w.write(seed, fmt.Sprintf("data/%d", i), string(buf))
	}
	w.commit(seed, "much")
	w.git(seed, "push", "-q", w.bare(own), "main")
	w.git(w.bare(own), "repack", "-adq")

	auth := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(gitUser+":"+token))
	clone := func(url string, config ...string) time.Duration {
		var args []string
		for _, c := range config {
			args = append(args, "-c", c)
		}
		start := time.Now()
		w.git(".", append(args, "clone", "-q", "--bare", url, "copy")...)
		took := time.Since(start)
		if err := os.RemoveAll(w.path("copy")); err != nil {
			b.Fatal(err)
		}
		return took
	}
	var straight, through time.Duration
	b.SetBytes(200 << 20)
	for b.Loop() {
		straight += clone(w.upstream.URL+"/"+own+".git", "http.sslVerify=false", "http.extraHeader="+auth)
		through += clone("https://" + host + "/" + own + ".git")
	}
	b.ReportMetric(100*straight.Seconds()/through.Seconds(), "%-of-direct")
	b.ReportMetric(straight.Seconds()/float64(b.N), "s-direct")
	b.ReportMetric(through.Seconds()/float64(b.N), "s-through")
}
