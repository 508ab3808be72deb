package sessions

import (
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Grant allows a host in a running session, and keeps the rule where that is asked.
func Grant() *command.Command {
	cmd := &command.Command{Name: "grant", Args: "SESSION --host HOST[:PORT] [--for 30m | --session | --project | --always]", Short: "allow a host in a running session",
		Long:     "Allows one host in a running session, at once. With --project or --always the very\nrule that is shown is kept for later sessions too.",
		Examples: []string{"ringfence grant demo --host api.example.org --for 30m"},
		Takes:    command.One}
	f := &cmd.Flags
	host := f.String("host", "", "the `HOST[:PORT]` to allow")
	limit := f.Duration("for", 0, "for a time such as `30m`")
	f.Bool("session", false, "until the session ends (the default)")
	project := f.Bool("project", false, "keep the rule for this project")
	always := f.Bool("always", false, "keep the rule for all projects")
	yes := f.Bool("yes", false, "keep it without asking")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		id := command.First(args)
		given := 0
		for _, n := range []string{"for", "session", "project", "always"} {
			if f.IsSet(n) {
				given++
			}
		}
		switch {
		case id == "" || *host == "":
			return 2, fault.New(fault.Usage, "see `ringfence requests` for what waits", "grant needs a session and --host")
		case given > 1:
			return 2, fault.New(fault.Usage, "", "of --for, --session, --project and --always give one")
		case f.IsSet("for") && *limit < time.Second:
			return 2, fault.New(fault.Usage, "for example --for 30m", "--for %s is too short", *limit)
		}
		rule, err := address.ParseRule(*host)
		if err != nil {
			return 2, fault.New(fault.Usage, "", "--host: %w", err)
		}
		if (*project || *always) && !*yes {
			where := "this project"
			if *always {
				where = "all projects"
			}
			c.Say("the rule is: [network] allow = [%q], for %s", rule, where)
			if !c.Confirm("Keep exactly this rule?", false) {
				return 1, nil
			}
		}
		if id, err = findRunning(id); err != nil {
			return 1, err
		}
		return grantRule(c, id, rule, *limit, *project, *always)
	}
	return cmd
}

func grantRule(c *command.Console, id string, rule address.Rule, limit time.Duration, project, always bool) (int, error) {
	status, err := control.Ask(id, control.Request{Do: "status"})
	if err != nil {
		return 1, err
	}
	r, err := control.Ask(id, control.Request{Do: "grant", Rule: rule.String(), For: limit})
	if err != nil {
		return 1, fault.New(fault.Refused, "", "not granted: %w", err)
	}
	c.Say("%s: allowed %s %s", id, r.Grant.Rule, until(r.Grant.Expires))
	if !project && !always {
		return 0, nil
	}
	dirs, err := c.Dirs()
	if err != nil {
		return 2, err
	}
	file := dirs.GrantFile("")
	if project {
		if file, err = projectGrants(status.Status.Dir, c.Environ); err != nil {
			return 2, err
		}
	}
	if err := policy.Keep(file, rule, time.Now(), "ringfence grant, for session "+id); err != nil {
		return 2, err
	}
	c.Say("kept in %s", plan.Show(file))
	return 0, nil
}

// projectGrants is the file of rules for the project around dir.
func projectGrants(dir string, environ []string) (string, error) {
	s, err := session.Look(launch.Options{Dir: dir, Environ: environ, Flags: &policy.Policy{}, NoProject: true})
	if err != nil {
		return "", err
	}
	return s.Dirs.GrantFile(s.ProjectRoot()), nil
}
