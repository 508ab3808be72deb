package audit

import "ringfence.dev/ringfence/internal/file/settings"

// Bounds of one settings file: strangers write those of a project. The user's own may
// be large, since agents keep histories in them.
const (
	maxSettings = 1 << 20
	maxOwn      = 16 << 20
	maxDepth    = 64
	maxNodes    = 1 << 19
)

// form is how agents read. Their own files may hold texts with any character.
var form = settings.Rules{Comments: true, Depth: maxDepth, Nodes: maxNodes}

type node = settings.Node

func parseJSON(b []byte) (*node, error) { return form.JSON(b) }

func parseTOML(b []byte) (*node, error) {
	n, _, err := form.TOML(b)
	return n, err
}
