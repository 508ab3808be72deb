package launch

import (
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Hostname is the name of every sandbox.
const Hostname = "ringfence"

// Command is the agent that is any command.
const Command = agent.Command

// Options is what the user asked for.
type Options struct {
	Agent      string   // a profile's name
	Args       []string // the command, or the agent's own arguments
	Dir        string   // where the user stands
	Workspaces []string // PATH[:ro]; empty: the directory or its repository
	Flags      *policy.Policy
	Env        []string // --env
	ForceEnv   []string // --force-env
	Environ    []string // the launcher's environment
	// Binds are further read-only mounts that ringfence itself needs inside.
	Binds []plan.Mount
	// NoProject leaves the project's own policy out.
	NoProject bool
	// Passing keeps no state: what would be kept is private and gone at the end.
	Passing bool
	// Clone works in a clone of the repository.
	Clone bool
	// PolicyFile is read in the place of the user's own; "" reads that.
	PolicyFile string
	// Look prepares to be looked at only: nothing is made on the host.
	Look bool
	// AllRepos says that a directory above several repositories is meant.
	AllRepos bool
	// Server is the name of the MCP server that this session is; "" for an agent.
	Server string
	// Fetch is the tool that this session fetches; "" for all others.
	Fetch string
	// Wanting is what holds in the project that wants the tool: its brakes hold for the
	// fetch too.
	Wanting *policy.Policy
	// Learn notes what is asked for and not there, and lets unknown public hosts be
	// reached; `ringfence learn` alone sets it.
	Learn bool
	// Nobody is there to answer a question.
	Nobody bool
	// Name is what the user calls the session; it may be empty.
	Name string
	// AskServers asks a person whether MCP servers of the host come along; nil: nobody is
	// there to be asked.
	AskServers func(names []string) bool `json:"-"`
	// Version is that of ringfence, for the journal.
	Version string
	// Keep lets what is known of the session stay after its end.
	Keep bool
}
