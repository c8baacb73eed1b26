// Package jinja is an interpreter for the Jinja language as chat templates use it.
//
// The definition of right is CPython's jinja2 3.1 in its immutable sandbox with trim_blocks and
// lstrip_blocks on, autoescape off and the loop controls extension: the settings Hugging Face's
// apply_chat_template uses. Values behave as Python's do (ordered dicts, code point strings,
// type errors), because templates rely on it.
//
// The nouns: Template (a parsed source), Value (what expressions evaluate to), Dict (insertion
// order kept), Error (with the template's line), Limits (what one rendering may spend).
//
// Templates and inputs are untrusted. Nothing here reads the environment, files or the clock, and a
// rendering ends with an Error once it has spent its steps, bytes or nesting depth.
//
// The package must not know what a chat, a model or a token is. Read template.go first.
package jinja
