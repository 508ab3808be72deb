package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/mcp"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/supervisor"
)

func mcpCommand() *command {
	return family(&command{name: "mcp", short: "run MCP servers of the host, each in its own sandbox",
		long:     "Runs MCP servers of the host, each in a sandbox of its own, and pins what they tell of\nthemselves. An agent starts those that [mcp.NAME] of your policy or --mcp NAME names;\nit finds ringfence itself among them, to ask why and to ask for a grant.",
		examples: []string{"ringfence mcp ls", "ringfence mcp run files --ro ~/notes -- mcp-server-files ~/notes"}},
		mcpRun(), mcpList(), mcpTrust())
}

const aboutServer = `Runs an MCP server that speaks on stdin and stdout, in a sandbox of its own. It has what
[mcp.NAME] of your policy says, and nothing of the project, of the network or of your
files besides. Its tools are pinned when they are first seen; when they change, they
are refused until ` + "`ringfence mcp trust NAME`" + ` accepts them.`

// mcpRun stands between an agent, on our stdin and stdout, and a server in a sandbox.
func mcpRun() *command {
	cmd := &command{name: "mcp run", args: "NAME [flags] [-- CMD [ARGS]]", short: "run a server in its own sandbox, on stdin and stdout",
		long: aboutServer, examples: []string{"ringfence mcp run files --ro ~/notes -- mcp-server-files ~/notes"},
		takes: takesMany, cut: true, status: 125}
	whose := cmd.flags.String("agent", "", "`AGENT` whose settings say how the server starts, where policy does not")
	l := newLaunchFlags(cmd)
	cmd.run = func(c *console, args []string) (int, error) {
		if err := source.NoCore(); err != nil {
			return 125, err
		}
		if len(args) != 1 {
			return 125, fault.New(fault.Usage, "for example: ringfence mcp run files -- mcp-server-files /srv/docs", "mcp run takes the name of one server, and its command behind --")
		}
		s, set, err := c.prepareServer(l, args[0], *whose, cmd.behind)
		if err != nil {
			return 125, err
		}
		defer s.Close()
		if err := c.startServer(s, set, args[0]); err != nil {
			return max(fault.ExitStatus(err), 1), err
		}
		return 0, nil
	}
	return cmd
}

func (c *console) prepareServer(l *launchFlags, name, whose string, command []string) (*session.Session, session.ServerSettings, error) {
	opt, err := l.options(c, agent.Command, nil)
	if err != nil {
		return nil, session.ServerSettings{}, err
	}
	set, err := session.Server(opt, name, whose)
	if err != nil {
		return nil, set, err
	}
	if command == nil {
		command = set.Argv
	}
	if len(command) == 0 {
		return nil, set, fault.New(fault.Refused, fmt.Sprintf("say it: ringfence mcp run %s -- CMD, or command = [\"CMD\"] in [mcp.%[1]s]", name),
			"neither policy nor an agent's settings say how MCP server %s starts", name)
	}
	opt.Args, opt.Server = command, name
	opt.Env, opt.ForceEnv = slices.Concat(set.Env, opt.Env), slices.Concat(set.Force, opt.ForceEnv)
	s, err := session.Prepare(opt)
	return s, set, err
}

// serverGrace is what a server gets to end when the agent has gone.
const serverGrace = 2 * time.Second

// startServer runs the server and the proxy before it. The agent's descriptors stay
// with us: the server has pipes of ours.
func (c *console) startServer(s *session.Session, set session.ServerSettings, name string) error {
	var own, ours [3]*os.File
	for i := range own {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		defer w.Close()
		if own[i], ours[i] = w, r; i == 0 {
			own[i], ours[i] = r, w
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	p := &mcp.Proxy{Name: name, Book: set.Book, Refuse: set.Refuse, Left: func() { time.AfterFunc(serverGrace, stop) },
		Tell: func(text string) { fmt.Fprintf(c.err, "%s%s\n", supervisor.ServerNote(name), inert(text)) }}
	proxied := make(chan error, 1)
	go func() {
		err := p.Run(c.in, c.out, ours[1], ours[0])
		proxied <- err
		if err != nil {
			stop()
			ours[1].Close() // nobody reads on, and nobody must wait to be read
		}
		time.AfterFunc(serverGrace, stop) // it may have closed its output only
	}()
	var said sync.WaitGroup
	said.Go(func() { c.serverSays(name, ours[2]) })
	_, err := supervisor.Start(ctx, s, own, supervisor.Talk{
		Before: func(r cgroup.Report) error { c.card(s, r, false); return nil },
		Warn:   func(text string) { fmt.Fprintf(c.err, "ringfence: warning: %s\n", inert(text)) }})
	own[1].Close()
	own[2].Close()
	said.Wait()
	if fault := <-proxied; fault != nil {
		return fault
	}
	return err
}

// serverSays passes on what a server says on its standard error: each line behind its
// name, so that none looks like one of ours.
func (c *console) serverSays(name string, r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 8<<10)
	for lines.Scan() {
		fmt.Fprintf(c.err, "%s: %s\n", name, inert(lines.Text()))
	}
	io.Copy(io.Discard, r) // a line without an end keeps the server from nothing
}

// mcpList shows the servers of policy and of the agents' settings.
func mcpList() *command {
	cmd := &command{name: "mcp ls", args: "[--json]", short: "list the servers that policy and agents know, and what is pinned",
		long:     "Lists the MCP servers that your policy names and those of the agents' settings, with what\nis pinned of them in this project. Exits with 1 if the tools of one have changed.",
		examples: []string{"ringfence mcp ls"}}
	f := &cmd.flags
	asJSON := f.Bool("json", false, "print JSON")
	cmd.run = func(c *console, args []string) (int, error) {
		all, err := c.servers()
		if err != nil {
			return 2, err
		}
		status := 0
		rows := [][]string{}
		for _, s := range all {
			pinned := "never seen"
			if s.Digest != "" {
				pinned = fmt.Sprintf("%d tools, %.12s", s.Tools, s.Digest)
			}
			if len(s.Drift) > 0 {
				status, pinned = 1, "changed: "+strings.Join(s.Drift, ", ")
			}
			rows = append(rows, []string{s.Name, s.State, s.Workspace, strings.Join(s.Hosts, " "), pinned})
		}
		if *asJSON {
			if all == nil {
				all = []session.Listed{}
			}
			return status, c.writeJSON(all)
		}
		if len(rows) == 0 {
			fmt.Fprintln(c.err, "ringfence: no MCP server is known: name one in [mcp.NAME] of your policy")
			return 0, nil
		}
		return status, c.table([]string{"NAME", "STATE", "WORKSPACE", "HOSTS", "PINNED"}, rows)
	}
	return cmd
}

func (c *console) servers() ([]session.Listed, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return session.Servers(session.Options{Agent: agent.Command, Dir: dir, Environ: c.environ, Flags: &policy.Policy{}})
}

// mcpTrust shows what changed and makes it the pinned.
func mcpTrust() *command {
	cmd := &command{name: "mcp trust", args: "NAME [--yes]", short: "show what of a server's tools changed, and accept it",
		long:     "Shows what of a server's tools is not as it was pinned in this project, and accepts it.",
		examples: []string{"ringfence mcp trust files"},
		takes:    takesMany}
	f := &cmd.flags
	yes := f.Bool("yes", false, "accept without asking")
	cmd.run = func(c *console, args []string) (int, error) {
		if len(args) != 1 {
			return 2, fault.New(fault.Usage, "ringfence mcp ls lists them", "mcp trust takes the name of one server")
		}
		dir, err := os.Getwd()
		if err != nil {
			return 2, err
		}
		set, err := session.Server(session.Options{Agent: agent.Command, Dir: dir, Environ: c.environ, Flags: &policy.Policy{}}, args[0], "")
		if err != nil {
			return 2, err
		}
		r, err := set.Book.Load()
		if err != nil {
			return 2, err
		}
		if r == nil || len(r.Drift()) == 0 {
			fmt.Fprintf(c.err, "ringfence: nothing of MCP server %s has changed\n", args[0])
			return 0, nil
		}
		for _, ch := range r.Drift() {
			c.showChange(ch)
		}
		if !*yes && !c.confirm("Trust this of MCP server "+args[0]+"?", false) {
			return 1, nil
		}
		if _, err := set.Book.Accept(r.Offered, time.Now()); errors.Is(err, mcp.ErrMoved) {
			return 1, fault.New(fault.Refused, "ringfence mcp trust "+args[0], "%w", err)
		} else if err != nil {
			return 2, err
		}
		fmt.Fprintf(c.err, "ringfence: trusted; agents that run see it when they list the tools again\n")
		return 0, nil
	}
	return cmd
}

// showChange prints one change, field by field.
func (c *console) showChange(ch mcp.Change) {
	fmt.Fprintln(c.out, inert(ch.String()))
	for _, line := range ch.Lines() {
		fmt.Fprintf(c.out, "  %s\n", strings.ReplaceAll(inert(line), "\n", "\n  "))
	}
	if hidden := mcp.Hidden(ch.Is); hidden != nil {
		fmt.Fprintf(c.out, "  ! it holds characters that nobody sees and a model reads: %s\n", strings.Join(hidden, " "))
	}
}
