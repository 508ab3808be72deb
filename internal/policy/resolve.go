package policy

// Layers are the policies of one session. A nil layer was not there.
type Layers struct {
	Ceiling *Policy // of /etc: bounds everything, flags included
	User    *Policy
	Flags   *Policy
	Project *Policy // only tightens unless its exact content is trusted

	ProjectTrusted bool

	Home       string   // what ~/ means, so that two spellings of a path compare
	Workspaces []string // of the session itself, read-write: a read rule beneath one takes writing away
}

// Resolve returns the effective policy, and what an untrusted project asked for
// in vain. A project adds or changes no secret, trusted or not. Flags come after the project: the user who types them outranks a file.
// The proxy of the ceiling, which bounds nothing, is the one that holds.
func Resolve(l Layers) (*Policy, []Change) {
	s := scope{home: l.Home, roots: l.Workspaces}
	p := Merge(Builtin(), l.User)
	var ignored []Change
	if l.ProjectTrusted && l.Project != nil {
		p = Merge(p, l.Project.withoutSecrets())
		tightenSecrets(p.Secret, l.Project.Secret)
	} else {
		ignored = s.widens(p, l.Project)
		p = s.tighten(p, l.Project)
	}
	p = s.tighten(Merge(p, l.Flags), l.Ceiling)
	if l.Ceiling != nil && l.Ceiling.Network.Proxy != nil {
		p.Network.Proxy = l.Ceiling.Network.Proxy
	}
	return p, ignored
}
