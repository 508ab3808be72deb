package main

import (
	"syscall"
	"time"
)

// since measures the start beside that of an older binary, one after the other and in an
// order that changes, so that what else happens on the machine happens to both.
func (b *bench) since() error {
	if b.before == "" {
		return nil
	}
	dir, err := b.workspace("empty", nil)
	if err != nil {
		return err
	}
	var wall, used [2]times
	once := func(i int, program string) error {
		cmd := b.command(dir, program, "run", "--no-input", "--", "true")
		began := time.Now()
		if _, err := run(cmd); err != nil {
			return err
		}
		wall[i] = append(wall[i], time.Since(began).Seconds())
		u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		used[i] = append(used[i], time.Duration(u.Utime.Nano()+u.Stime.Nano()).Seconds())
		return nil
	}
	programs := []string{b.before, b.ringfence}
	for round := range b.rounds*5 + 1 {
		for n := range programs {
			i := (n + round) % 2
			if err := once(i, programs[i]); err != nil {
				return err
			}
		}
		if round == 0 { // made the project's state
			wall, used = [2]times{}, [2]times{}
		}
	}
	var pairs times
	for i := range wall[0] {
		pairs = append(pairs, wall[1][i]/wall[0][i])
	}
	b.add("start of ringfence / of the one before", pairs.median() <= 0.75, "at most 0.75 of f5dfd19", "%.2f pair by pair (medians %.2f, minima %.2f, processor time %.2f)",
		pairs.median(), wall[1].median()/wall[0].median(), wall[1].min()/wall[0].min(), used[1].median()/used[0].median())
	return nil
}
