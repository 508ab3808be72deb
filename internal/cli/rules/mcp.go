package rules

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

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/mcp"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/supervisor"
)

// MCP runs servers of the host, and pins their tools.
func MCP() *command.Command {
	return command.Family(&command.Command{Name: "mcp", Short: "run MCP servers of the host, each in its own sandbox",
		Long:     "Runs MCP servers of the host, each in a sandbox of its own, and pins what they tell of\nthemselves. An agent starts those that [mcp.NAME] of your policy or --mcp NAME names;\nit finds ringfence itself among them, to ask why and to ask for a grant.",
		Examples: []string{"ringfence mcp ls", "ringfence mcp run files --ro ~/notes -- mcp-server-files ~/notes"}},
		mcpRun(), mcpList(), mcpTrust())
}

const aboutServer = `Runs an MCP server that speaks on stdin and stdout, in a sandbox of its own. It has what
[mcp.NAME] of your policy says, and nothing of the project, of the network or of your
files besides. Its tools are pinned when they are first seen; when they change, they
are refused until ` + "`ringfence mcp trust NAME`" + ` accepts them.`

// mcpRun stands between an agent, on our stdin and stdout, and a server in a sandbox.
func mcpRun() *command.Command {
	cmd := &command.Command{Name: "mcp run", Args: "NAME [flags] [-- CMD [ARGS]]", Short: "run a server in its own sandbox, on stdin and stdout",
		Long: aboutServer, Examples: []string{"ringfence mcp run files --ro ~/notes -- mcp-server-files ~/notes"},
		Takes: command.Many, Cut: true, Status: 125}
	whose := cmd.Flags.String("agent", "", "`AGENT` whose settings say how the server starts, where policy does not")
	l := NewFlags(cmd)
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if err := source.NoCore(); err != nil {
			return 125, err
		}
		if len(args) != 1 {
			return 125, fault.New(fault.Usage, "for example: ringfence mcp run files -- mcp-server-files /srv/docs", "mcp run takes the name of one server, and its command behind --")
		}
		s, set, err := prepareServer(c, l, args[0], *whose, cmd.Behind)
		if err != nil {
			return 125, err
		}
		defer s.Close()
		if err := startServer(c, s, set, args[0]); err != nil {
			return max(fault.ExitStatus(err), 1), err
		}
		return 0, nil
	}
	return cmd
}

func prepareServer(c *command.Console, l *Flags, name, whose string, argv []string) (*session.Session, session.ServerSettings, error) {
	opt, err := l.Options(c, agent.Command, nil)
	if err != nil {
		return nil, session.ServerSettings{}, err
	}
	set, err := session.Server(opt, name, whose)
	if err != nil {
		return nil, set, err
	}
	if argv == nil {
		argv = set.Argv
	}
	if len(argv) == 0 {
		return nil, set, fault.New(fault.Refused, fmt.Sprintf("say it: ringfence mcp run %s -- CMD, or command = [\"CMD\"] in [mcp.%[1]s]", name),
			"neither policy nor an agent's settings say how MCP server %s starts", name)
	}
	opt.Args, opt.Server = argv, name
	opt.Env, opt.ForceEnv = slices.Concat(set.Env, opt.Env), slices.Concat(set.Force, opt.ForceEnv)
	s, err := session.Prepare(opt)
	return s, set, err
}

// serverGrace is what a server that runs gets to answer and to end when the agent has gone.
const serverGrace = 5 * time.Second

// startServer runs the server and the proxy before it. The agent's descriptors stay
// with us: the server has pipes of ours.
func startServer(c *command.Console, s *session.Session, set session.ServerSettings, name string) error {
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
	began := make(chan struct{})
	leave := func() {
		go func() { // who has asked and gone is answered, however long the start takes
			<-began
			time.AfterFunc(serverGrace, stop)
		}()
	}
	p := &mcp.Proxy{Name: name, Book: set.Book, Refuse: set.Refuse, Left: leave,
		Tell: func(text string) { fmt.Fprintf(c.Err, "%s%s\n", supervisor.ServerNote(name), command.Inert(text)) }}
	proxied := make(chan error, 1)
	go func() {
		err := p.Run(c.In, c.Out, ours[1], ours[0])
		proxied <- err
		if err != nil {
			stop()
			ours[1].Close() // nobody reads on, and nobody must wait to be read
		}
		time.AfterFunc(serverGrace, stop) // it may have closed its output only
	}()
	var said sync.WaitGroup
	said.Go(func() { serverSays(c, name, ours[2]) })
	_, err := supervisor.Start(ctx, s, own, supervisor.Talk{
		Before: func(r cgroup.Report) error { Unusual(c.Err, s, r, false); return nil },
		Began:  func() { close(began) }, Warn: c.Warn})
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
func serverSays(c *command.Console, name string, r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 8<<10)
	for lines.Scan() {
		fmt.Fprintf(c.Err, "%s: %s\n", name, command.Inert(lines.Text()))
	}
	io.Copy(io.Discard, r) // a line without an end keeps the server from nothing
}

// mcpList shows the servers of policy and of the agents' settings.
func mcpList() *command.Command {
	cmd := &command.Command{Name: "mcp ls", Args: "[--json]", Short: "list the servers that policy and agents know, and what is pinned",
		Long:     "Lists the MCP servers that your policy names and those of the agents' settings, with what\nis pinned of them in this project. Exits with 1 if the tools of one have changed.",
		Examples: []string{"ringfence mcp ls"}}
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		opt, err := serverOptions(c)
		if err != nil {
			return 2, err
		}
		all, err := session.Servers(opt)
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
			return status, c.JSON(all)
		}
		if len(rows) == 0 {
			c.Say("no MCP server is known: name one in [mcp.NAME] of your policy")
			return 0, nil
		}
		return status, c.Table([]string{"NAME", "STATE", "WORKSPACE", "HOSTS", "PINNED"}, rows)
	}
	return cmd
}

// serverOptions is a launch here, of which only the servers count.
func serverOptions(c *command.Console) (launch.Options, error) {
	dir, err := os.Getwd()
	return launch.Options{Agent: agent.Command, Dir: dir, Environ: c.Environ, Flags: &policy.Policy{}}, err
}

// mcpTrust shows what changed and makes it the pinned.
func mcpTrust() *command.Command {
	cmd := &command.Command{Name: "mcp trust", Args: "NAME [--yes]", Short: "show what of a server's tools changed, and accept it",
		Long:     "Shows what of a server's tools is not as it was pinned in this project, and accepts it.",
		Examples: []string{"ringfence mcp trust files"},
		Takes:    command.Many}
	yes := cmd.Flags.Bool("yes", false, "accept without asking")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if len(args) != 1 {
			return 2, fault.New(fault.Usage, "ringfence mcp ls lists them", "mcp trust takes the name of one server")
		}
		opt, err := serverOptions(c)
		if err != nil {
			return 2, err
		}
		set, err := session.Server(opt, args[0], "")
		if err != nil {
			return 2, err
		}
		r, err := set.Book.Load()
		if err != nil {
			return 2, err
		}
		if r == nil || len(r.Drift()) == 0 {
			c.Say("nothing of MCP server %s has changed", args[0])
			return 0, nil
		}
		for _, ch := range r.Drift() {
			showChange(c, ch)
		}
		if !*yes && !c.Confirm("Trust this of MCP server "+args[0]+"?", false) {
			return 1, nil
		}
		if _, err := set.Book.Accept(r.Offered, time.Now()); errors.Is(err, mcp.ErrMoved) {
			return 1, fault.New(fault.Refused, "ringfence mcp trust "+args[0], "%w", err)
		} else if err != nil {
			return 2, err
		}
		c.Say("trusted; agents that run see it when they list the tools again")
		return 0, nil
	}
	return cmd
}

// showChange prints one change, field by field.
func showChange(c *command.Console, ch mcp.Change) {
	fmt.Fprintln(c.Out, command.Inert(ch.String()))
	for _, line := range ch.Lines() {
		fmt.Fprintf(c.Out, "  %s\n", strings.ReplaceAll(command.Inert(line), "\n", "\n  "))
	}
	if hidden := mcp.Hidden(ch.Is); hidden != nil {
		fmt.Fprintf(c.Out, "  ! it holds characters that nobody sees and a model reads: %s\n", strings.Join(hidden, " "))
	}
}
