package policy

import (
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/file"
)

// secrets finds those that could not be used as they are written, and those that
// stand in each other's way. What is off stands in nobody's.
func (c *checker) secrets() {
	on := c.p.SecretsOn()
	for i := range on {
		s := &on[i]
		c.secretSource(s)
		c.seen(s)
		c.secretUse(s)
		for j := range on[:i] {
			c.clash(s, &on[j])
		}
		for _, v := range s.Env {
			if c.p.Env.Pass.has(v.Value) || slices.ContainsFunc(c.p.Env.Set, func(have Setting) bool { return have.Name == v.Value }) {
				c.add(v.Source, "%s is to hold what stands for the secret %s, and [env] passes or sets it too", v.Value, s.Name)
			}
		}
	}
}

func (c *checker) secretSource(s *Secret) {
	switch kind, _ := s.Origin(); {
	case kind == "command" && len(s.Command) == 0:
		c.add(s.Source, "[secret.%s] has no command = [\"PROGRAM\", …]", s.Name)
	case kind != "command" && s.Command != nil:
		c.add(s.Source, "[secret.%s] has a command and is from %s: write from = \"command\"", s.Name, kind)
	case kind == "command":
		program := s.Command[0].Value
		if program == "" || strings.Contains(program, "/") && checkPath(program) != nil {
			c.add(s.Command[0].Source, "the program of [secret.%s] is a name on PATH, or a path that begins with / or ~/", s.Name)
		}
	}
}

// seen finds secrets whose source is shown inside: what is there needs no broker.
func (c *checker) seen(s *Secret) {
	switch kind, arg := s.Origin(); kind {
	case "env":
		if c.p.Env.Pass.has(arg) && !slices.ContainsFunc(c.p.Env.Set, func(have Setting) bool { return have.Name == arg }) {
			c.add(s.From.Source, "%s is the secret %s itself, and [env] passes it inside", arg, s.Name)
		}
	case "file":
		at := Expand(arg, c.env.Home)
		view := scope{home: c.env.Home, roots: c.env.Workspaces}.view(c.p, true)
		hidden := func(m Rule) bool { return !relative(m.Value) && file.Within(at, Expand(m.Value, c.env.Home)) }
		if view.at(at) != absent && !slices.ContainsFunc(c.p.Files.Mask, hidden) {
			c.add(s.From.Source, "%q is the secret %s itself, and lies where the agent can see it", arg, s.Name)
		}
	}
}

// secretUse holds a secret against its kind.
func (c *checker) secretUse(s *Secret) {
	kind := findUse(s.Kind())
	if kind == nil {
		kind = &use{}
	}
	need := func(missing bool, key, line string) {
		if missing {
			c.add(s.Use.Source, "[secret.%s] is used as %s and has no %s%s", s.Name, kind.name, key, s.mend(line))
		}
	}
	surplus := func(k string, foreign bool) {
		if key := secretTables.keyOf(s, k); foreign && key.written() {
			_, src := key.text()
			c.add(src, "[secret.%s] has %s, which means nothing to use = %q", s.Name, k, kind.name)
		}
	}
	need(kind.hosts && len(s.Hosts) == 0, "host", `hosts = ["HOST"]`)
	need(kind.name == "header" && s.Header == nil, "header", `header = "NAME"`)
	need(kind.name == "basic" && s.User == nil, "user", `user = "NAME"`)
	need(kind.name == "aws" && s.Role == nil && (s.Static == nil || !s.Static.Value), "role", `role = "arn:aws:iam::ACCOUNT:role/NAME"`)
	surplus("header", kind.name != "header")
	surplus("user", !kind.user)
	surplus("publish", !kind.publish)
	for _, k := range []string{"role", "ttl", "session-policy", "region", "static"} {
		surplus(k, kind.name != "aws")
	}
	c.homes(s, kind)
}

// homes holds the hosts of a secret against its kind and against each other.
func (c *checker) homes(s *Secret, kind *use) {
	for i, h := range s.Hosts {
		to, err := ParseHome(h.Value)
		switch {
		case err != nil:
			c.add(h.Source, "%v", err)
		case to.Base != "" && kind.name != "" && !kind.path:
			c.add(h.Source, "%q: [secret.%s] is used as %s, which has a whole host and no path: write %s", h.Value, s.Name, kind.name, to.Host)
		}
		for _, first := range s.Hosts[:i] {
			if paths := strings.Contains(plainHome(h.Value)+plainHome(first.Value), "/"); paths && overlap(h.Value, first.Value) {
				c.add(h.Source, "%q and %q of [secret.%s] are one place: leave one out", h.Value, first.Value, s.Name)
			}
		}
	}
}

// clash finds two secrets for one thing: which of them is used would be chance.
func (c *checker) clash(s, first *Secret) {
	for _, v := range s.Env {
		if first.Env.has(v.Value) {
			c.add(v.Source, "%s is to hold what stands for the secret %s, and for %s in %s", v.Value, s.Name, first.Name, first.Source)
		}
	}
	if s.Use == nil || s.Kind() != first.Kind() {
		return
	}
	if len(s.Hosts) == 0 && len(first.Hosts) == 0 {
		c.add(s.Use.Source, "[secret.%s] is used as %s, and so is [secret.%s] in %s: say which hosts each is for", s.Name, s.Kind(), first.Name, first.Source)
	}
	for _, h := range s.Hosts {
		for _, f := range first.Hosts {
			if overlap(h.Value, f.Value) {
				c.add(h.Source, "%q: [secret.%s] and, in %s, [secret.%s] are both used as %s there", h.Value, s.Name, f.Source, first.Name, s.Kind())
			}
		}
	}
}

// clear lists secrets that travel for everybody to read.
func (c *checker) clear() {
	for _, s := range c.p.SecretsOn() {
		for _, h := range s.Hosts {
			if to, err := ParseHome(h.Value); err == nil && (to.Host.Proto == address.HTTP || to.Host.Proto == "" && to.Host.Port == 80) {
				c.add(h.Source, "%q: [secret.%s] travels there without TLS", h.Value, s.Name)
			}
		}
		if s.Static != nil && s.Static.Value {
			c.add(s.Static.Source, "[secret.%s] hands out credentials that do not end", s.Name)
		}
	}
}
