// Package git drives real git and real git-lfs through the forge handler, to git's
// own http-backend on the other side.
package git
