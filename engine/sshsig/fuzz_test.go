package sshsig

import (
	"testing"
	"time"
)

// FuzzOpen: whatever is stored as a signature, reading it ends, and what is read is written as it can be read again.
func FuzzOpen(f *testing.F) {
	f.Add("-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----\n")
	f.Add("-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgAvCUjN6+8FIt50sqfmUaW/wu55\nOaEc9PhGLQY1VmVawAAAANZmVycm94LXJ1bGluZwAAAAAAAAAGc2hhNTEyAAAAUwAAAAtz\nc2gtZWQyNTUxOQAAAECadkeYcGO8cS1IwIkB8QyFSWkjfqMfbQITF60dm2dwQSzQj/uzRH\nVnPjyThwmoCIxm4wdzRikzv8/LmNcNVxgJ\n-----END SSH SIGNATURE-----\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := open(text)
		if err != nil {
			return
		}
		again, err := open(e.close())
		if err != nil || again.namespace != e.namespace || again.hash != e.hash || again.close() != e.close() {
			t.Errorf("%q: read again: %v", text, err)
		}
		if err := e.verify([]byte("nobody signed this")); err == nil {
			t.Errorf("%q is a signature of what nobody signed", text)
		}
	})
}

// FuzzSigners: whatever stands in the file, reading it ends, and nobody whose principal has no role may rule.
func FuzzSigners(f *testing.F) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIALwlIzevvBSLedLKn5lGlv8LueTmhHPT4Ri0GNVZlWs"
	f.Add("operator/a " + key)
	f.Add(`"a b",supervisor/b namespaces="git,*",valid-after="20200101Z" ` + key + " comment")
	f.Add("# nothing\n\n* cert-authority " + key)
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := parseSigners(text)
		if err != nil && entries != nil {
			t.Errorf("%q: entries beside an error", text)
		}
		for _, e := range entries {
			if who, err := e.at(time.Unix(0, 0)); err == nil {
				if role, name := roleOf(who.Principal); role != who.Role || name == "" {
					t.Errorf("%q: %+v may rule", text, who)
				}
			}
		}
	})
}
