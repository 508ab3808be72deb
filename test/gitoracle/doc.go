// Package gitoracle plays hostile sessions on git directories in the real binary,
// and then runs on the host what people and their tools run there. Every program
// that is executed is witnessed: one that is not git's own is an escape, and so is
// a file that is written outside of the workspace. It knows nothing of our rules:
// git itself is the judge.
package gitoracle
