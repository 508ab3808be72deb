package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/fault"
)

// Config says for whom to drill.
type Config struct {
	Self    string   // the ringfence executable, which plays
	Home    string   // the user's home directory
	State   string   // ringfence's state directory
	Environ []string // the launcher's environment
	// Bare leaves the copy outside out: who is root has nothing around that a
	// mistake would stop at.
	Bare   bool
	Launch Launch
}

// playing is one drill while it is played.
type playing struct {
	Config
	drill          *Drill
	at             *places
	inside, copied *scene
	seen           *Seen
	answers        []Answer // by step
	control        []Answer // by step; nil: there is none
	unreal         []string // by step: why policy decides it without a try
}

// Run plays one drill.
func Run(ctx context.Context, c Config, d *Drill) (Report, error) {
	p := &playing{Config: c, drill: d, unreal: make([]string, len(d.steps))}
	var err error
	p.at, err = openPlaces(c.State)
	defer p.at.remove()
	if err != nil {
		return Report{}, fmt.Errorf("prepare the drill: %w", err)
	}
	defer func() { p.copied.close(); p.inside.close() }()
	if !c.Bare {
		if err := p.outside(ctx); err != nil {
			return Report{}, interrupted(ctx, fmt.Errorf("control outside: %w", err))
		}
	}
	if err := p.sandbox(ctx); err != nil {
		return Report{}, interrupted(ctx, err)
	}
	r := p.judge()
	return r, interrupted(ctx, ctx.Err())
}

// interrupted says so where an error only follows from a signal.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fault.New(fault.Failed, "", "the drill was interrupted: %w", errors.Join(context.Cause(ctx), err))
	}
	return err
}

// outside plays on a copy without a sandbox, as a program of the user's would run.
func (p *playing) outside(ctx context.Context) error {
	s, err := p.scene("copy")
	if p.copied = s; err != nil {
		return err
	}
	s.user = s.home
	play, at := p.play(s, false)
	stdin, err := json.Marshal(play)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Self, "drill", Arg)
	// Of the user's variables only PATH: GIT_DIR would lead the scripts to a
	// repository of the user's.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + s.home}, s.environ...)
	cmd.Dir, cmd.Stdin = s.work, bytes.NewReader(stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%q: %w", p.Self, err)
	}
	if p.control, err = p.byStep(out, at); err != nil {
		return err
	}
	return p.host(ctx, s)
}

// host is what a person does on the host when the agent is done.
func (p *playing) host(ctx context.Context, s *scene) error {
	if p.drill.after == nil {
		return nil
	}
	return p.drill.after(ctx, s)
}

// sandbox plays under the user's policy.
func (p *playing) sandbox(ctx context.Context) error {
	s, err := p.scene("room")
	if p.inside = s; err != nil {
		return err
	}
	var at []int
	job := Job{Self: p.Self, Argv: []string{p.Self, "drill", Arg}, Workspace: s.work, Own: []string{p.at.tmp, p.at.state},
		Environ: replaced(p.Environ, append(s.environ, "XDG_STATE_HOME="+p.at.state))} // what the session keeps goes with the drill
	job.Ready = func(given Promise) ([]byte, error) {
		p.decide(given)
		var play Play
		play, at = p.play(s, true)
		return json.Marshal(play)
	}
	if p.seen, err = p.Launch(ctx, job); err != nil {
		return err
	}
	if p.answers, err = p.byStep(p.seen.Stdout, at); err != nil {
		return err
	}
	return p.host(ctx, s)
}

// scene plants the drill in a room of its own.
func (p *playing) scene(name string) (*scene, error) {
	s, err := newScene(p.drill, filepath.Join(p.at.tmp, name), filepath.Join(p.at.state, name+"-canary"), p.Home, p.State)
	if err != nil {
		return s, fmt.Errorf("plant the drill: %w", err)
	}
	return s, nil
}

// replaced adds variables to an environment, in the place of those of the same name.
func replaced(environ, by []string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.ContainsFunc(by, func(b string) bool { return strings.HasPrefix(b, name+"=") })
	})
	return append(out, by...)
}

// decide finds what policy itself lets through. That is told and not tried: it could
// reach what is not the drill's own.
func (p *playing) decide(given Promise) {
	for i, st := range p.drill.steps {
		switch {
		case st.try == nil:
		case st.try.Wipes && len(given.Written) > 0:
			p.unreal[i] = "not tried: policy lets the agent write " + strings.Join(given.Written, ", ")
		case st.try.Send != "" && !loopback(p.inside.target(st.try.Send)):
			host, port := split(st.try.Send)
			if why, open := given.Open(host, port); open {
				p.unreal[i] = "not tried: " + why
			}
		}
	}
}

// split reads a target of ours.
func split(hostport string) (host string, port uint16) {
	host, number, _ := strings.Cut(hostport, ":")
	fmt.Sscan(number, &port)
	return host, port
}

// listener stands for the address of a scene's own listener.
const listener = "listener"

func (s *scene) target(to string) string {
	if to != listener {
		return to
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), s.port).String()
}

// play lists the tries of a scene, and the step of each.
func (p *playing) play(s *scene, sandboxed bool) (Play, []int) {
	out, at := Play{Vars: s.vars()}, []int{}
	if sandboxed {
		out.Home = inode(p.Home)
		out.Net, _ = os.Readlink("/proc/self/ns/net")
	}
	for i, st := range p.drill.steps {
		if st.try == nil || !sandboxed && st.alone {
			continue
		}
		t := *st.try
		t.Skip = sandboxed && p.unreal[i] != ""
		if t.Send != "" {
			t.Send = s.target(t.Send)
			t.Data = []byte(s.needles[0].Secret)
		}
		if t.Skip {
			t = Try{Skip: t.Milder == "", Script: t.Milder}
		}
		out.Tries, at = append(out.Tries, t), append(at, i)
	}
	return out, at
}

func (p *playing) byStep(out []byte, at []int) ([]Answer, error) {
	answers, err := decodeAnswers(out, len(at))
	if err != nil {
		return nil, err
	}
	all := make([]Answer, len(p.drill.steps))
	for i, a := range answers {
		all[at[i]] = a
	}
	return all, nil
}
