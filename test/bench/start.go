package main

import (
	"fmt"
	"os"
)

// start measures the way to `true` and back.
func (b *bench) start() error {
	dir, err := b.workspace("empty", nil)
	if err != nil {
		return err
	}
	// A first run makes the project's state, which the dry run only names.
	if _, err := run(b.command(dir, b.inside(nil, "true")...)); err != nil {
		return err
	}
	bwrap, err := b.bubblewrap(dir)
	if err != nil {
		return err
	}
	commands := [][]string{{"true"}, bwrap, b.inside(nil, "true")}
	if b.srt != "" {
		settings := b.dir + "/srt.json"
		text := `{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":["~/.ssh"],"allowWrite":["."],"denyWrite":[]}}`
		if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
			return err
		}
		commands = append(commands, []string{b.srt, "--settings", settings, "true"})
	}
	all, err := b.hyperfine(dir, b.rounds, commands...)
	if err != nil {
		return err
	}
	native, view, ours := all[0], all[1], all[2]
	med, least := ratio(ours, view)
	b.add("start of ringfence / bubblewrap, same view", med <= 3, "at most 3", "%.2f (minima %.2f)", med, least)
	if b.srt == "" {
		return fmt.Errorf("srt is not here: scripts/tools installs it")
	}
	med, least = ratio(all[3], ours)
	b.add("start of srt / ringfence", med >= 10, "at least 10", "%.1f (minima %.1f)", med, least)
	b.note("start, medians", "true %.1f ms, bubblewrap %.1f ms, ringfence %.1f ms, srt %.0f ms",
		native.median()*1e3, view.median()*1e3, ours.median()*1e3, all[3].median()*1e3)
	return nil
}
