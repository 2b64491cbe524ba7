// Package settings turns the bytes of .planning/config.json into one typed value for the runner and for the decision verbs.
//
// It reads no file and no clock: bytes come in; a value, the warnings and all the errors come out. Comments and trailing
// commas are accepted, an explicit null counts as absent, and nothing that is wrong is put right silently.
package settings
