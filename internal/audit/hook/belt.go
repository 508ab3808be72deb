package hook

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// beltForm is the one line that the file has.
const beltForm = "nobody=%t copy=%t total=%d file=%d\n"

// Text is what a session writes into its file for the hook.
func (b Belt) Text() []byte { return fmt.Appendf(nil, beltForm, b.Nobody, b.Copy, b.Total, b.File) }

// ReadBelt reads that file. Without one there is somebody, and nothing is kept: so it is
// outside of a session.
func ReadBelt(path string) Belt {
	text, err := file.Read(path, 256, 0)
	var b Belt
	if err != nil {
		return Belt{}
	}
	if n, err := fmt.Sscanf(string(text), strings.TrimSpace(beltForm), &b.Nobody, &b.Copy, &b.Total, &b.File); n != 4 || err != nil {
		return Belt{}
	}
	return b
}
