package policy

// form is the shape of a key's value.
type form int

const (
	formList  form = iota // ["a", "b"]
	formTable             // NAME = "value"
	formWord              // one word of a fixed set
	formCount             // an integer
	formSize              // bytes: an integer, or a string with a unit
)

func (f form) String() string {
	return [...]string{"a list of strings", "a table of strings", "a string", "an integer",
		`an integer or a size such as "2GiB"`}[f]
}

// key is one key of the file. The table below is the only place that knows the
// keys: the decoder, the printer and the schema all walk it.
type key struct {
	section, name string
	form          form
	about         string
	check         func(string) error // of one value
	pattern       string             // what a schema can say of check
	words         []string           // the only values, unless empty
	list          func(*Policy) *List
	limit         func(*Policy) **Limit
}

func (k *key) String() string { return "[" + k.section + "] " + k.name }

const (
	patternPath = `^(/|~/)[^*?\[]*$`
	patternMask = `^[^*?\[]+$`
	patternName = `^[A-Za-z_][A-Za-z0-9_]*$`
)

var keys = []key{
	{section: "workspace", name: "paths", form: formList, check: checkWorkspace, pattern: patternPath,
		about: "Further workspaces besides the one the session starts in: PATH, or PATH:ro for read-only.",
		list:  func(p *Policy) *List { return &p.Workspace.Paths }},

	{section: "files", name: "read", form: formList, check: checkPath, pattern: patternPath,
		about: "Paths that join the view read-only. Beneath a writable path this takes writing away.",
		list:  func(p *Policy) *List { return &p.Files.Read }},
	{section: "files", name: "write", form: formList, check: checkPath, pattern: patternPath,
		about: "Paths that join the view read-write.",
		list:  func(p *Policy) *List { return &p.Files.Write }},
	{section: "files", name: "mask", form: formList, check: checkMask, pattern: patternMask,
		about: "Paths that are hidden, whatever else allows them; a relative path is hidden in every workspace.",
		list:  func(p *Policy) *List { return &p.Files.Mask }},
	{section: "files", name: "expose", form: formList, check: checkPath, pattern: patternPath,
		about: "Known credentials that may join the view all the same.",
		list:  func(p *Policy) *List { return &p.Files.Expose }},

	{section: "env", name: "pass", form: formList, check: checkName, pattern: patternName,
		about: "Variables taken from the environment of the launcher.",
		list:  func(p *Policy) *List { return &p.Env.Pass }},
	{section: "env", name: "force", form: formList, check: checkName, pattern: patternName,
		about: "Variables that are refused by name (loaders, secrets) and pass all the same.",
		list:  func(p *Policy) *List { return &p.Env.Force }},
	{section: "env", name: "set", form: formTable, check: checkText,
		about: "Variables with a value of their own."},

	{section: "network", name: "mode", form: formWord, words: modes,
		about: "What of the network is there."},

	{section: "limits", name: "pids", form: formCount, about: "Processes and threads.",
		limit: func(p *Policy) **Limit { return &p.Limits.Pids }},
	{section: "limits", name: "memory", form: formSize, about: "Memory of the whole session.",
		limit: func(p *Policy) **Limit { return &p.Limits.Memory }},
	{section: "limits", name: "tmp", form: formSize, about: "Size of /tmp.",
		limit: func(p *Policy) **Limit { return &p.Limits.Tmp }},
	{section: "limits", name: "home", form: formSize, about: "Size of the private HOME, besides what is kept per project.",
		limit: func(p *Policy) **Limit { return &p.Limits.Home }},
	{section: "limits", name: "shm", form: formSize, about: "Size of /dev/shm.",
		limit: func(p *Policy) **Limit { return &p.Limits.Shm }},
	{section: "limits", name: "open", form: formCount, about: "Open files of one process.",
		limit: func(p *Policy) **Limit { return &p.Limits.Open }},

	{section: "require", name: "walls", form: formList, words: WallNames(),
		about: "Walls that must stand for a launch to go ahead. What is left out is waived.",
		list:  func(p *Policy) *List { return &p.Require.Walls }},
	{section: "require", name: "limits", form: formList, words: limitNames,
		about: "Limits that must be enforced for a launch to go ahead.",
		list:  func(p *Policy) *List { return &p.Require.Limits }},
}

// sections lists the sections in the order of the table.
func sections() []string {
	var out []string
	for i := range keys {
		if len(out) == 0 || out[len(out)-1] != keys[i].section {
			out = append(out, keys[i].section)
		}
	}
	return out
}

// keysOf lists the names of one section's keys.
func keysOf(section string) []string {
	var out []string
	for i := range keys {
		if keys[i].section == section {
			out = append(out, keys[i].name)
		}
	}
	return out
}

func findKey(section, name string) *key {
	for i := range keys {
		if keys[i].section == section && keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}
