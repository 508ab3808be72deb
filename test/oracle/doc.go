// Package oracle holds ringfence against bubblewrap. The same probe looks around in
// a sandbox of ringfence and in the one that `--dry-run=bwrap` describes, and once
// on the bare host as the control. On every row ours must be at least as tight.
package oracle
