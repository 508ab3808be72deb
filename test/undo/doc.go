// Package undo plays sessions of the real binary and people beside them on one git
// repository, undoes the sessions, and lets real git judge. Everything runs on a stage, as
// root and as an ordinary user.
package undo
