package policy

// Layers are the policies of one session. A nil layer was not there.
type Layers struct {
	Ceiling  *Policy // of /etc: bounds everything, flags included
	Defaults *Policy // of /etc: what every user of the machine begins with
	User     *Policy
	Flags    *Policy
	Project  *Policy // only tightens unless its exact content is trusted

	ProjectTrusted bool

	Home       string   // what ~/ means, so that two spellings of a path compare
	Workspaces []string // of the session itself, read-write: a read rule beneath one takes writing away
}

// Resolve returns the effective policy, and what an untrusted project asked for
// in vain. A project adds or changes no secret and no MCP server, trusted or not, lowers no
// rung, sends itself to no other machine, and has no say in what other sessions keep. The image of a container it names only
// where nobody else does, and after trust. Flags come after the project: the user who types them outranks a file.
// What of the ceiling bounds nothing (the proxy, the sizes of undo, gVisor's program) is what holds.
func Resolve(l Layers) (*Policy, []Change) {
	s := scope{home: l.Home, roots: l.Workspaces}
	p := Merge(Merge(Builtin(), l.Defaults), l.User)
	if f := l.Flags; f != nil && f.Project.For != nil {
		p.Project.For = f.Project.For
	}
	which := p.Posture()
	p = s.upon(p, which)
	for _, other := range []*Policy{l.Project, l.Ceiling} {
		l.ProjectTrusted = l.ProjectTrusted && !which.Distrust && (other == nil || !other.Posture().Distrust)
	}
	var ignored, away []Change
	l.Project, away = l.Project.stays()
	if l.ProjectTrusted && l.Project != nil {
		own := p
		p = Merge(p, l.Project.withoutNamed())
		p.Project, p.Workspace.UndoTotal, p.Rung, p.Require.Rung = own.Project, own.Workspace.UndoTotal, own.Rung, own.Require.Rung
		p = s.under(p, which) // what was chosen for the task holds, whatever the project may do otherwise
		tightenRung(p, l.Project)
		for _, n := range allNamed {
			n.tighten(p, l.Project)
		}
	} else {
		ignored = s.widens(p, l.Project)
		p = s.tighten(p, l.Project)
	}
	ignored = append(ignored, away...)
	p = s.demanded(p, l.Project)
	p = Merge(p, l.Flags)
	p.withServers(l.Flags)
	p = s.demanded(s.tighten(p, l.Ceiling), l.Ceiling)
	if l.Ceiling != nil {
		p.take(l.Ceiling)
	}
	if l.ProjectTrusted && l.Project != nil && p.Rung.Image == nil && p.Rung.Use.Text() == RungOfImages {
		p.Rung.Image = l.Project.Rung.Image
	}
	p.Refused = l.outright()
	return p, ignored
}

// demanded bounds a policy by the posture that a layer names.
func (s scope) demanded(p, layer *Policy) *Policy {
	if layer == nil || layer.Project.For == nil {
		return p
	}
	out := s.under(p, layer.Posture())
	if layer.Project.For.Value != out.Project.For.Text() {
		out.Project.Demanded = append(out.Project.Demanded, *layer.Project.For)
	}
	return out
}

// Bare is the policy that holds without the project's file; whole where there is none.
func (l Layers) Bare(whole *Policy) *Policy {
	if l.Project == nil {
		return whole
	}
	l.Project, l.ProjectTrusted = nil, false
	p, _ := Resolve(l)
	return p
}

// take lets hold what a ceiling says of things that are not a matter of more or less.
func (p *Policy) take(ceiling *Policy) {
	if ceiling.Network.Proxy != nil {
		p.Network.Proxy = ceiling.Network.Proxy
	}
	p.Rung.take(&ceiling.Rung)
	if ceiling.Workspace.Undo != nil {
		p.Workspace.Undo = ceiling.Workspace.Undo
	}
	if ceiling.Workspace.UndoFile != nil {
		p.Workspace.UndoFile = ceiling.Workspace.UndoFile
	}
	if ceiling.Workspace.UndoTotal != nil {
		p.Workspace.UndoTotal = ceiling.Workspace.UndoTotal
	}
}
