package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// timerName is the name under which this program does a piece of work once for each
// line it reads, and answers with the time it took and the processor time. It runs
// where the work runs, so that the launch of a sandbox is no part of it.
const timerName = "bench-timer"

// job is a piece of work in a workspace of its own.
type job struct {
	name, dir string
	runs      int // in each round
	script    string
	fresh     string   // of both, before each run; it takes no time
	empty     string   // inside, likewise
	env       []string // of both, besides the rest
}

// work compares work inside with the same work on the host, turn by turn.
func (b *bench) work() error {
	jobs, err := b.jobs()
	if err != nil {
		return err
	}
	for _, j := range jobs {
		host, inside, err := b.turns(j)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		med, least := ratio(inside.clock, host.clock)
		used, _ := ratio(inside.processor, host.processor)
		b.add(j.name+" inside / on the host", used <= 1.05, "at most 1.05", "%.2f processor time (clock %.2f, minima %.2f)", used, med, least)
	}
	return nil
}

func (b *bench) turns(j job) (host, inside *timer, err error) {
	name, err := putTimer(j.dir)
	if err != nil {
		return nil, nil, err
	}
	start := func(argv ...string) (*timer, error) {
		cmd := b.command(j.dir, argv...)
		cmd.Env = append(cmd.Env, j.env...)
		return startTimer(cmd)
	}
	if host, err = start(name, j.script, j.fresh); err != nil {
		return nil, nil, err
	}
	defer host.stop()
	if inside, err = start(b.inside([]string{"--workspace", j.dir}, name, j.script, j.fresh, j.empty)...); err != nil {
		return nil, nil, err
	}
	defer inside.stop()
	for n := range 1 + b.rounds*j.runs {
		if n == 1 { // the first has filled the caches of both
			host.clock, host.processor, inside.clock, inside.processor = nil, nil, nil, nil
		}
		if err := errors.Join(host.once(), inside.once()); err != nil {
			return nil, nil, err
		}
	}
	return host, inside, nil
}

// timer is a running timer and what it has said.
type timer struct {
	cmd              *exec.Cmd
	in               io.WriteCloser
	out              *bufio.Reader
	clock, processor times
}

// putTimer puts a copy of this program into a workspace.
func putTimer(dir string) (string, error) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", err
	}
	name := dir + "/" + timerName
	return name, os.WriteFile(name, self, 0o755)
}

func startTimer(cmd *exec.Cmd) (*timer, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	return &timer{cmd: cmd, in: in, out: bufio.NewReader(out)}, cmd.Start()
}

func (t *timer) once() error {
	if _, err := fmt.Fprintln(t.in); err != nil {
		return err
	}
	var clock, processor float64
	_, err := fmt.Fscanln(t.out, &clock, &processor)
	t.clock, t.processor = append(t.clock, clock), append(t.processor, processor)
	return err
}

func (t *timer) stop() {
	t.in.Close()
	t.cmd.Wait()
}

// timeWork is the timer itself.
func timeWork(args []string) error {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		for _, before := range args[1:] {
			if err := exec.Command("sh", "-c", before).Run(); err != nil {
				return fmt.Errorf("%s: %w", before, err)
			}
		}
		cmd := exec.Command("sh", "-c", args[0])
		cmd.Stderr = os.Stderr
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		fmt.Println(time.Since(began).Seconds(), used.Seconds())
	}
	return nil
}
