// Package ssh plays sessions on another machine: sshd on the loopback of a stage, with a user
// there who is not the one here and has a home of his own. Nothing of the real machine's ssh is
// read or written.
package ssh
