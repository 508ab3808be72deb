// Package decoy makes credentials that are worth nothing, lays them where a thief
// looks and no working tool does, and tells when one is read.
//
// Each session has its own. They have the shape of real ones, and what is secret about
// them is random, so that wherever one turns up it was taken from this session. They
// open nothing: no server was ever told of them.
//
// # Honest work does not meet them
//
// ssh tries keys by their default names and id_ed25519_prod is none; aws reads
// credentials and not credentials.bak; gh and git have no github-token; what reads
// .env.production reads it from the directory of a project, which HOME is not; and
// the variable has a name that is nobody's. The directories .ssh and .aws exist then,
// and may be written to: their decoys are mounts, the directories are not.
//
// # How reading is noticed
//
// By inotify on the inode, which lies in the session's state on the host: it tells of
// the opening of a file by whatever mount it is reached, so also by a read-only one in
// another namespace, at once and to an ordinary user. The other ways cost more or tell
// less: fanotify needs a privilege, seccomp-notify would stop every open of the
// session to ask, and the time of the last access is not written on a read-only mount.
//
// # What is left at risk
//
//   - Who read it is not told, nor how much of it. grep -r over HOME reads it, and so
//     may a backup or an indexer on the host: a read is a notice and no verdict.
//   - The reading of the variable is not seen. Every process has it, and a program that
//     prints its environment prints it.
//   - To look is not to read: names, sizes and O_PATH descriptors are not told. Linux
//     before 6.10 may tell of O_PATH.
//   - The mount must be of the planted file itself. A copy, or a file below an overlay,
//     is another inode.
//   - Of many reads only the first is told, then none for Quiet.
//   - Who knows this package knows the places. A decoy is for the thief who does not.
package decoy

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/leakscan"
)

// The decoys, as a journal names them.
const (
	SSHKey      = "ssh key"
	AWSKey      = "aws key"
	GitHubToken = "github token"
	EnvFile     = "env file"
	InEnv       = "environment variable"
)

// Variable is the name of the one in the environment.
const Variable = "DEPLOY_BREAKGLASS_TOKEN"

// places are the decoys that are files, in HOME.
var places = map[string]string{
	SSHKey:      ".ssh/id_ed25519_prod",
	AWSKey:      ".aws/credentials.bak",
	GitHubToken: ".config/github-token",
	EnvFile:     ".env.production",
}

// File is a decoy to be laid.
type File struct {
	Name string // of the decoy
	Path string // inside
	Data []byte
}

// Set is the decoys of one session.
type Set struct {
	data    map[string][]byte // by name of the decoy
	value   string            // of the variable
	needles []leakscan.Named
}

// Make makes the decoys of a session. They depend on its name and on 32 bytes of
// random, and on nothing else.
func Make(session string, random io.Reader) (Set, error) {
	var seed [32]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return Set{}, fmt.Errorf("make decoys: %w", err)
	}
	chance := rand.NewChaCha8(sha256.Sum256(append(seed[:], session...)))
	s := Set{data: map[string][]byte{}}
	for _, shape := range []func(*Set, *rand.ChaCha8){sshKey, awsKey, gitHubToken, envFile, variable} {
		shape(&s, chance)
	}
	return s, nil
}

// Files are the decoys that are files, for this home directory, sorted by path.
func (s Set) Files(home string) []File {
	var files []File
	for name, data := range s.data {
		files = append(files, File{name, filepath.Join(home, places[name]), bytes.Clone(data)})
	}
	slices.SortFunc(files, func(a, b File) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return files
}

// Env is the decoy in the environment.
func (s Set) Env() (name, value string) { return Variable, s.value }

// Needles are the secret parts, each under the name of its decoy.
func (s Set) Needles() []leakscan.Named { return slices.Clone(s.needles) }

// Format keeps the decoys out of whatever prints a Set: a journal that shows one
// would be found by a search for it.
func (Set) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, "decoys") }

var _ fmt.Formatter = Set{}

// Places are where decoys lie in a home directory, whether or not a session has them.
func Places(home string) []string {
	var out []string
	for _, p := range places {
		out = append(out, filepath.Join(home, p))
	}
	return out
}
