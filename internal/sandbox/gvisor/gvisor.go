// Package gvisor is the rung of gVisor: the agent's kernel is a process of the host, the
// sentry, which stands within the walls of the native rung. Package sentry starts it.
package gvisor
