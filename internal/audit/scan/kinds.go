package scan

// kind is what a finding is about. Its number never changes its meaning.
type kind struct {
	id    string
	level Level
	gets  string
}

// The kinds: what an attacker gets.
var (
	kHook      = kind{"SC-001", Danger, "a command of the repository's choice runs as soon as the agent starts or uses a tool"}
	kEnv       = kind{"SC-002", Danger, "the agent or what it starts loads other code, trusts other servers or sends its key elsewhere"}
	kServer    = kind{"SC-003", Danger, "a program or server of the repository's choice answers the agent as a tool"}
	kHelper    = kind{"SC-004", Danger, "a command of the repository's choice runs whenever the agent needs a key, a status line or a list"}
	kAllow     = kind{"SC-005", Danger, "the agent asks nobody before it acts"}
	kSandbox   = kind{"SC-006", Danger, "the agent's own sandbox is off, or has a way around"}
	kPlugin    = kind{"SC-007", Danger, "code from elsewhere becomes part of the agent"}
	kDirs      = kind{"SC-008", Danger, "the agent works in directories outside of the project"}
	kEndpoint  = kind{"SC-009", Danger, "prompts, files and the key go to a server of the repository's choice"}
	kUnclear   = kind{"SC-010", Danger, "whatever another reader finds in it"}
	kAway      = kind{"SC-011", Danger, "the agent reads a file outside of the project in its place"}
	kUpdate    = kind{"SC-012", Danger, "the agent replaces itself by another version"}
	kUnknown   = kind{"SC-013", Danger, "whatever a setting does that ringfence does not know"}
	kTwice     = kind{"SC-014", Danger, "one of two readings of a setting that is there more than once"}
	kWritten   = kind{"SC-015", Danger, "whatever a variable or a file holds that the agent puts in its place"}
	kPrompt    = kind{"SC-016", Danger, "the agent is given a prompt of the repository's choice, at a time that it sets"}
	kHidden    = kind{"SC-020", Danger, "instructions that an agent reads and a person does not see"}
	kBidi      = kind{"SC-021", Danger, "text that a person reads in another order than an agent"}
	kComment   = kind{"SC-022", Danger, "instructions that are not shown where the file is shown as a page"}
	kStyle     = kind{"SC-023", Danger, "instructions in a size or colour that nobody sees"}
	kFar       = kind{"SC-024", Danger, "instructions where nobody scrolls to"}
	kBlob      = kind{"SC-025", Note, "instructions or code that nobody can read as they are"}
	kImport    = kind{"SC-026", Danger, "credentials become part of the conversation"}
	kYarn      = kind{"SC-030", Danger, "code of the repository runs at every yarn command, asking for its version too"}
	kNpm       = kind{"SC-031", Danger, "a program of the repository's choice runs at every command of the package manager"}
	kPnpm      = kind{"SC-032", Note, "code of the repository runs at every install"}
	kGit       = kind{"SC-040", Danger, "a command of the repository's choice runs at git commands, an editor's and a prompt's too"}
	kGitHook   = kind{"SC-041", Note, "a script runs at git commands"}
	kBare      = kind{"SC-042", Danger, "git takes a directory of the tree for a repository, and its settings run programs"}
	kModule    = kind{"SC-043", Danger, "fetching submodules runs a command or writes where it should not"}
	kGitLocal  = kind{"SC-044", Note, "files of the tree run at git commands"}
	kLogin     = kind{"SC-045", Note, "nothing inside, where it is not shown; outside, whoever can read the file has the login"}
	kTask      = kind{"SC-050", Danger, "a command runs when the folder is opened"}
	kEditor    = kind{"SC-051", Danger, "a program of the repository's choice runs when the folder is opened"}
	kContainer = kind{"SC-052", Danger, "a command runs on the host, or the container gets the host's files or rights"}
	kSetup     = kind{"SC-053", Note, "a command runs in the container when it is made or started"}
	kStartup   = kind{"SC-054", Danger, "a configuration runs when the project is opened"}
	kTheirCode = kind{"SC-055", Note, "code of anybody's pull request runs in CI with the repository's secrets and a token that can write"}
	kTheirText = kind{"SC-056", Note, "a title, a comment or the name of a branch becomes a command in CI, with the repository's secrets"}
	kDirenv    = kind{"SC-060", Note, "shell code runs in every shell there, once it is allowed"}
	kMise      = kind{"SC-061", Note, "shell code or variables take effect in every shell there, once they are trusted"}
	kHistory   = kind{"SC-070", Note, "the secret, from git's objects: no mask can keep it. Replace it"}
)

// kindOf finds what hostexec.toml names. A finding that is not known is a danger.
func kindOf(id string) kind {
	for _, k := range []kind{kHook, kEnv, kServer, kHelper, kAllow, kSandbox, kPlugin, kDirs, kEndpoint, kUnclear, kUpdate, kPrompt, kYarn, kNpm, kPnpm,
		kTask, kEditor, kContainer, kSetup, kStartup, kDirenv, kMise} {
		if k.id == id {
			return k
		}
	}
	return kUnknown
}
