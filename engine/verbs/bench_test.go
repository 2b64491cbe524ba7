package verbs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkProcess measures a whole call against an empty program and, where there is one, node.
func BenchmarkProcess(b *testing.B) {
	s := newSandbox(b)
	dir := b.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty+".go", []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", empty, empty+".go").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}

	capCheck := []string{s.tool, "query", "gate.cap-check", "--gate", "g", "--increment", "i", "--start-ts", "0", "--now-ts", "0", "--passes"}
	for _, program := range []struct {
		name string
		argv []string
	}{
		{"empty Go program", []string{empty}},
		{"gate.cap-check, no cap fires", append(capCheck, "1")},
		{"gate.cap-check, with a line in the run-log", append(capCheck, "3")},
		{"node -e 0", []string{"node", "-e", "0"}},
	} {
		b.Run(program.name, func(b *testing.B) {
			if _, err := exec.LookPath(program.argv[0]); err != nil {
				b.Skip(err)
			}
			for b.Loop() {
				if err := s.program(program.argv[0], program.argv[1:]...).Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
