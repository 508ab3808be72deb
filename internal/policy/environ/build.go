package environ

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// Input is everything that may put a name into the environment, in the order in
// which it counts: a later one replaces an earlier one.
type Input struct {
	Launcher []string         // the host's environment, from which names are passed
	Base     []policy.Setting // what ringfence sets; not judged by the catalogue
	Policy   policy.Env
	Files    []File
	Flags    []string // --env NAME or NAME=VALUE
	Force    []string // --force-env NAME
}

// File is a parsed env file. An untrusted one is shown and not obeyed.
type File struct {
	Settings []policy.Setting
	Trusted  bool
}

const builtIn = "built-in"

var (
	fromLauncher = policy.Source{File: "launcher"}
	fromFlag     = policy.Source{File: "flag --env"}
	fromForce    = policy.Source{File: "flag --force-env"}
)

// Build makes the environment. If a name was refused the error says which and
// why, and the Environment is still whole, so that an audit can be shown; it
// must not be used to start anything.
func Build(in Input) (Environment, error) {
	b := builder{host: first(in.Launcher), forced: map[string]policy.Source{}, in: map[string]Entry{}}
	for _, step := range []func(Input) error{b.force, b.base, b.policy, b.files, b.flags, b.passForced} {
		if err := step(in); err != nil {
			return Environment{}, err
		}
	}
	b.dropRest()
	env := Environment{Entries: slices.Concat(slices.Collect(maps.Values(b.in)), b.out)}
	slices.SortStableFunc(env.Entries, func(x, y Entry) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Reason, y.Reason))
	})
	if len(b.denied) > 0 {
		return env, refusal(b.denied)
	}
	return env, checkSize(env)
}

// first indexes an environment by name. Of two entries with one name the first
// counts, as for getenv: a later one is what some programs see and others do
// not. Entries without a name are nobody's.
func first(environ []string) map[string]string {
	host := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if _, twice := host[name]; ok && name != "" && !twice {
			host[name] = value
		}
	}
	return host
}

type builder struct {
	host   map[string]string
	forced map[string]policy.Source
	in     map[string]Entry // what enters
	out    []Entry          // what does not
	denied []Entry          // what was asked for by name, and refused
}

func (b *builder) force(in Input) error {
	rules := slices.Clone(in.Policy.Force)
	for _, name := range in.Force {
		rules = append(rules, policy.Rule{Value: name, Source: fromForce})
	}
	for _, r := range rules {
		if !validName(r.Value) {
			return badName(r.Value, r.Source, "force takes one name at a time; a value goes to --env NAME=VALUE")
		}
		b.forced[r.Value] = r.Source
	}
	return nil
}

func (b *builder) base(in Input) error {
	for _, s := range in.Base {
		if err := check(s); err != nil && s.Name != NotFound {
			return err
		}
		b.in[s.Name] = Entry{Name: s.Name, Kind: Set, Source: s.Source, value: s.Value}
	}
	return nil
}

func (b *builder) policy(in Input) error {
	for _, r := range in.Policy.Pass {
		if err := b.pass(r); err != nil {
			return err
		}
	}
	return b.set(in.Policy.Set)
}

func (b *builder) files(in Input) error {
	for _, f := range in.Files {
		if f.Trusted {
			if err := b.set(f.Settings); err != nil {
				return err
			}
			continue
		}
		for _, s := range f.Settings {
			b.out = append(b.out, Entry{Name: s.Name, Kind: Refused, Source: s.Source, Reason: "the file is not trusted"})
		}
	}
	return nil
}

func (b *builder) flags(in Input) error {
	for _, flag := range in.Flags {
		name, value, ok := strings.Cut(flag, "=")
		var err error
		if ok {
			err = b.set([]policy.Setting{{Name: name, Value: value, Source: fromFlag}})
		} else {
			err = b.pass(policy.Rule{Value: name, Source: fromFlag})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// passForced passes the forced names that the user gave no value: to force a
// name is to ask for it.
func (b *builder) passForced(Input) error {
	for name, source := range b.forced {
		missed := func(e Entry) bool { return e.Name == name && e.Kind == Dropped }
		if b.in[name].Kind == Added || slices.ContainsFunc(b.out, missed) {
			continue
		}
		if err := b.pass(policy.Rule{Value: name, Source: source}); err != nil {
			return err
		}
	}
	return nil
}

// set adds names with values. Only the built-in policy speaks for ringfence.
func (b *builder) set(settings []policy.Setting) error {
	for _, s := range settings {
		if err := check(s); err != nil {
			return err
		}
		e := Entry{Name: s.Name, Kind: Added, Source: s.Source, value: s.Value}
		if s.Source.File == builtIn {
			e.Kind = Set
		}
		if row, refused := b.judge(s.Name); refused && !knownsecrets.NoPassword(s.Name, s.Value) {
			b.deny(e, row)
			continue
		}
		b.enter(e)
	}
	return nil
}

// pass takes a name from the launcher. Of the built-in list a name that is
// refused is no error, and what ringfence sets stays. A name that the user wrote
// is an error if refused, whether or not the launcher has it: policy must not
// depend on the shell it is tried in.
func (b *builder) pass(r policy.Rule) error {
	if !validName(r.Value) {
		return badName(r.Value, r.Source, nameRule)
	}
	value, present := b.host[r.Value]
	e := Entry{Name: r.Value, Kind: Added, Source: r.Source, value: value}
	row, refused := b.judge(r.Value)
	if r.Source.File == builtIn {
		e.Kind = Passed
		if _, set := b.in[e.Name]; present && !set && !refused {
			b.enter(e)
		}
		return nil
	}
	switch {
	case refused:
		b.deny(e, row)
	case present:
		b.enter(e)
	default:
		b.out = append(b.out, Entry{Name: e.Name, Kind: Dropped, Source: e.Source, Reason: "not set in the launcher's environment"})
	}
	return nil
}

// judge reports the row that refuses the name; none if it is forced.
func (b *builder) judge(name string) (knownsecrets.Entry, bool) {
	row, refused := knownsecrets.Env(name)
	_, forced := b.forced[name]
	return row, refused && !forced
}

func (b *builder) enter(e Entry) {
	if _, forced := b.forced[e.Name]; !forced && knownsecrets.NoPassword(e.Name, e.value) {
		e.Reason = "an address without a password"
	} else if row, listed := knownsecrets.Env(e.Name); listed {
		e.Reason = "forced: " + reason(row)
	} else if was, set := b.in[e.Name]; set && was.Kind == Set && e.Kind == Added {
		e.Reason = "replaces what ringfence sets"
	}
	b.in[e.Name] = e
}

// deny forgets the value, so that no later mistake can bring it back.
func (b *builder) deny(e Entry, row knownsecrets.Entry) {
	e = Entry{Name: e.Name, Kind: Refused, Source: e.Source, Reason: reason(row)}
	b.out = append(b.out, e)
	b.denied = append(b.denied, e)
}

func reason(row knownsecrets.Entry) string { return string(row.Class) + ": " + row.What }

// dropRest lists what of the launcher's environment nobody asked for.
func (b *builder) dropRest() {
	listed := map[string]bool{}
	for _, e := range b.out {
		listed[e.Name] = true
	}
	for name, value := range b.host {
		if _, entered := b.in[name]; entered || listed[name] {
			continue
		}
		e := Entry{Name: name, Kind: Dropped, Source: fromLauncher, Reason: "on no list"}
		if knownsecrets.NoLogin(name, value) {
			e.Reason = "an address, without a login"
		} else if row, known := knownsecrets.Env(name); known {
			e.Reason = reason(row)
		} else if !validName(name) {
			e.Reason = "not a plain name"
		}
		b.out = append(b.out, e)
	}
}

func check(s policy.Setting) error {
	if !validName(s.Name) {
		return badName(s.Name, s.Source, nameRule)
	}
	if strings.ContainsRune(s.Value, 0) {
		return fault.New(fault.Usage, "", "%s: the value of %s holds a NUL byte", s.Source, s.Name)
	}
	return nil
}
