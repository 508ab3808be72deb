// Package sessions lives with sessions of the real binary as people do: many at once,
// attached and detached, hung up and killed. Everything runs on a stage, as root and
// as an ordinary user.
package sessions
