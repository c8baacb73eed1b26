// Package format reads and writes JNS containers. See SPEC.md for the rules.
package format
