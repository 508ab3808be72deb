package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"ringfence.dev/ringfence/internal/cli/command"
)

// firstCard is what somebody should know who has never started an agent this way.
const firstCard = `Welcome. What you start now sees its project and your toolchains, and nothing
else of this machine: no credentials, no other projects, no internal network.
  fenced      files, environment, processes, network, and credentials, which a
              broker outside adds for it
  not fenced  what it does in this project, and what you tell the model yourself
  ringfence why PATH|HOST           which rule refuses it, what would allow it
  ringfence grant SESSION --host H  let it reach one host more
  ringfence log                     what it wanted, and what became of it
This is said once.
`

// newcomer holds for a person who has no state yet: the first session makes it.
func newcomer(c *command.Console) bool {
	dirs, err := c.Dirs()
	if err != nil || c.Quiet || !c.Person() {
		return false
	}
	_, err = os.Lstat(dirs.State)
	return errors.Is(err, fs.ErrNotExist)
}

// welcome greets a newcomer whose session begins: one that is refused would be greeted again.
func welcome(c *command.Console) { fmt.Fprint(c.Err, firstCard+"\n") }
