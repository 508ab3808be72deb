// Command bench measures what ringfence costs, as ratios within one run: start-up
// beside bubblewrap with the same view and srt, and in a container beside docker's own
// client, independence of the workspace's size, memory while an agent idles, work inside beside work on the host, the
// network through the gate beside a straight connection and srt's proxy, and the
// views of the workspace beside each other and beside a plain writable mount. It
// prints one row for each target and fails only where it could not measure.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case recorderName:
		exit(record(os.Args[1:]))
	case timerName:
		exit(timeWork(os.Args[1:]))
	case loadName:
		exit(runLoad(os.Args[1:]))
	case filesName:
		exit(runFiles(os.Args[1:]))
	case trueName:
		exit(nil)
	}
	ringfence := flag.String("ringfence", "bin/ringfence", "the binary to measure")
	srt := flag.String("srt", "", "srt of @anthropic-ai/sandbox-runtime")
	unkept := flag.String("unkept", "", "a test build of the binary, which can leave the keeper out")
	far := flag.String("far", "", "a test build of the binary, whose sandboxes stand at the far end of a link")
	source := flag.String("source", ".", "a checkout of ringfence, to be built inside")
	rounds := flag.Int("rounds", 10, "rounds, each with five runs of everything")
	only := flag.String("only", "", "one part alone: start, container, gvisor, size, memory, work, registry, modules, net, view, files, large, end or person")
	flag.Parse()
	exit(measure(bench{ringfence: *ringfence, unkept: *unkept, far: *far, srt: *srt, source: *source, rounds: *rounds}, *only))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func measure(with bench, only string) error {
	b := &with
	if err := b.open(); err != nil {
		return err
	}
	defer b.close()
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"start", b.start}, {"container", b.container}, {"gvisor", b.gvisor}, {"size", b.size}, {"memory", b.memory}, {"work", b.work}, {"registry", b.registry}, {"modules", b.modules}, {"net", b.network},
		{"view", b.views}, {"files", b.files}, {"large", b.large}, {"end", b.end}, {"person", b.person},
	} {
		if only != "" && only != part.name {
			continue
		}
		fmt.Fprintln(os.Stderr, "bench:", part.name)
		if err := part.run(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	b.print(os.Stdout)
	return nil
}
